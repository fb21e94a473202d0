// SPDX-License-Identifier: Apache-2.0
// Builds a trace for an importer:
//   - assigns ids to the processes, threads, devices, contexts, streams and launch shapes that a
//     source identifies in its own way;
//   - writes rows in batches, so that memory does not grow with the source;
//   - stores the sources of rows, so that no value is lost.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/import/common/ordinal_map.hpp"
#include "tracesmith/model/source_rows.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

/// After how many rows importers write them: two blocks of a table. Only tests of what happens at
/// the end of a batch change it, while no importer runs.
inline size_t rows_per_batch = 1u << 18;

class TraceBuilder {
 public:
  /// `facts`: initial content of the trace.
  TraceBuilder(TraceWriter& writer, Trace facts);

  /// Rows not yet written: push to its tables, then call added().
  Trace rows;
  /// Interns `text`. A text longer than a trace can hold is truncated and counted.
  StringId text(std::string_view text) { return rows.strings.intern(fitting(text)); }
  /// Interns a JSON value verbatim. A value that is too long becomes null and is counted.
  StringId json(std::string_view value);
  void setMetadata(std::string_view key, std::string_view value) {
    rows.setMetadata(fitting(key), fitting(value));
  }

  // Each is identified by its number in the source; a new one gets a row. Names may come later, or
  // never.
  ProcessId process(int64_t pid);
  void nameProcess(int64_t pid, std::string_view name);
  ThreadId thread(int64_t pid, int64_t tid);
  void nameThread(int64_t pid, int64_t tid, std::string_view name);
  DeviceId device(int64_t ordinal);
  /// The row may be modified; finish() writes it.
  DeviceRow& deviceRow(int64_t ordinal);
  StreamId stream(int64_t pid, int64_t device, int64_t context, int64_t stream);
  void nameStream(StreamId id, std::string_view name);
  ShapeId shape(const LaunchShapeRow& shape);
  CounterTrackId counterTrack(const CounterTrackRow& track);

  /// Registers how rows of one kind looked in the source. For a database table, for example, that
  /// is a JSON object of its columns with a gap for each value. Returns the number to pass to
  /// keep().
  uint32_t sourceShape(const SourceShape& shape);
  /// Stores the source of the row just pushed to `table` (SourceRows::kNone: of an event without a
  /// row). `kept` holds its kept values in order: numbers or string ids. Either all rows of a table
  /// have sources or none.
  void keep(TableId table, uint32_t source_shape, std::span<const int64_t> kept);

  /// Call after each row. Writes the batch when it is large enough.
  void added(size_t count = 1);
  /// True if writing failed: nothing more is written, and finish() returns the error.
  bool failed() const { return !status_.has_value(); }
  /// Relates a time of the trace to Unix time (both in ns).
  void unixTime(int64_t trace_ns, int64_t unix_ns);
  /// Writes the remaining rows and the losses: `lost`, and the texts that were too long. The latter
  /// are also added to the damage in `counts`.
  Status finish(ImportCounts& counts, std::string lost);

 private:
  std::string_view fitting(std::string_view text) {
    return text.size() <= sbt::kMaxStringBytes ? text : cut(text);
  }
  std::string_view cut(std::string_view text);
  void writeBatch();

  TraceWriter& writer_;
  SourceRows sources_;
  Status status_;
  size_t pending_ = 0;
  std::map<int64_t, ProcessId> processes_;
  std::map<std::pair<int64_t, int64_t>, ThreadId> threads_;
  std::map<int64_t, DeviceRow> devices_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, ContextId> contexts_;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, StreamId> streams_;
  std::vector<StreamRow> stream_rows_;
  PlaceOrdinals device_ordinals_;
  PlaceOrdinals stream_ordinals_;
  LaunchShapeTable one_shape_;
  CounterTrackTable one_track_;
  std::map<std::string, ShapeId> shapes_;
  std::map<std::string, CounterTrackId> tracks_;
  std::map<std::string, uint32_t> source_shapes_;
  uint64_t cut_ = 0;       // number of truncated texts
  uint64_t left_out_ = 0;  // number of omitted values and keys of sources
  uint32_t no_shape_ = 0;  // replaces shapes that are too long; 0: not yet needed
};

}  // namespace tracesmith::import
