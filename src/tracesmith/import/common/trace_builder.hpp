// SPDX-License-Identifier: Apache-2.0
// What importers build a trace with: ids for the processes, threads, devices, contexts, streams and
// launch shapes that a source names in its own way, rows that are written in batches, so that
// memory does not grow with the source, and sources of rows, so that nothing is lost.
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

class TraceBuilder {
 public:
  /// `facts`: what the trace begins with.
  TraceBuilder(TraceWriter& writer, Trace facts);

  /// The rows that are not yet written: push to its tables, then call added().
  Trace rows;
  /// One longer than a trace can hold is cut there, and counted.
  StringId text(std::string_view text) { return rows.strings.intern(fitting(text)); }
  /// A JSON value as it stands, to be kept as such: one that is too long is null, and counted.
  StringId json(std::string_view value);
  void setMetadata(std::string_view key, std::string_view value) {
    rows.setMetadata(fitting(key), fitting(value));
  }

  // Each by its own number in the source; new ones get a row. The names may come later, or never.
  ProcessId process(int64_t pid);
  void nameProcess(int64_t pid, std::string_view name);
  ThreadId thread(int64_t pid, int64_t tid);
  void nameThread(int64_t pid, int64_t tid, std::string_view name);
  DeviceId device(int64_t ordinal);
  /// To fill in; what was changed is written by finish().
  DeviceRow& deviceRow(int64_t ordinal);
  StreamId stream(int64_t pid, int64_t device, int64_t context, int64_t stream);
  void nameStream(StreamId id, std::string_view name);
  ShapeId shape(const LaunchShapeRow& shape);
  CounterTrackId counterTrack(const CounterTrackRow& track);

  /// How rows of one kind stood in the source (for a table of a database, say: a JSON object of its
  /// columns, with a gap for each value). Returns what keep() wants.
  uint32_t sourceShape(const SourceShape& shape);
  /// The source of the row just pushed to `table` (SourceRows::kNone: of an event without a row):
  /// its kept values in order, numbers or ids of strings. Either all rows of a table have sources
  /// or none.
  void keep(TableId table, uint32_t source_shape, std::span<const int64_t> kept);

  /// After each row: writes what there is when it is enough.
  void added(size_t count = 1);
  /// Writing failed: nothing more is written, and finish() says why.
  bool failed() const { return !status_.has_value(); }
  /// What Unix time (ns) a time of the trace is.
  void unixTime(int64_t trace_ns, int64_t unix_ns);
  /// Writes the rest, and what the trace has lost: `lost`, and the texts that were too long, which
  /// become damage of `counts`, too.
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
  uint64_t cut_ = 0;       // texts
  uint64_t left_out_ = 0;  // values and keys of sources
  uint32_t no_shape_ = 0;  // stands for those that are too long; 0: there was none
};

}  // namespace tracesmith::import
