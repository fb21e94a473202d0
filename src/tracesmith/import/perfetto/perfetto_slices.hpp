// SPDX-License-Identifier: Apache-2.0
// Converts track events of a Perfetto trace to rows: slices, instants, flows and counters on their
// tracks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/perfetto/perfetto_clocks.hpp"
#include "tracesmith/import/perfetto/perfetto_first_pass.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"
#include "tracesmith/import/perfetto/perfetto_slice_stack.hpp"
#include "tracesmith/import/perfetto/perfetto_stacks.hpp"
#include "tracesmith/import/perfetto/perfetto_track_event.hpp"
#include "tracesmith/import/perfetto/perfetto_tracks.hpp"

namespace tracesmith::import {

/// What happened to an event of a packet.
enum class PerfettoOutcome : uint8_t {
  kRow,
  kDescription,  ///< it only describes other events, whose rows use it
  kKept,         ///< stored unchanged, without a row
  kUnusable,     ///< it has no time, or too little content
};

class PerfettoSlices {
 public:
  PerfettoSlices(TraceBuilder& builder, KeptEvents& kept, const PerfettoFirstPass& first_pass,
                 PerfettoClocks& clocks, SpansOfSource& spans)
      : builder_(builder),
        kept_(kept),
        first_pass_(first_pass),
        clocks_(clocks),
        spans_(spans),
        stacks_(builder, first_pass),
        tracks_(builder, first_pass) {}

  /// Writes the names of all processes and threads that the trace describes.
  void describe() { tracks_.describe(); }
  /// `packet_ns`: the packet's time; the event may have its own.
  PerfettoOutcome event(PerfettoSequence& sequence, uint64_t sequence_id,
                        std::optional<int64_t> packet_ns, std::string_view bytes);
  /// Writes events of unordered tracks in time order, then the slices that never ended.
  void finish();

  /// Correlation id that joins the device work with that event id to its call; 0: none.
  uint64_t correlationOf(uint64_t event_id) const;
  /// The thread of the call that submitted that work.
  ThreadId submitterOf(uint64_t event_id);
  /// The call stack of that call, if the call comes earlier in the file.
  CallPathId callPathOf(uint64_t event_id) const;
  uint64_t unknownTracks() const { return tracks_.unknownTracks(); }
  /// Number of CLOCK_MONOTONIC times that no snapshot relates to the trace's clock.
  uint64_t unrelatedTimes() const { return unrelated_times_; }
  /// Values of counters that are in no row, because the event names no track for them.
  uint64_t valuesWithoutTrack() const { return values_without_track_; }

 private:
  using Place = PerfettoTracks::Place;
  using Stack = SliceStack<PerfettoEvent>;
  struct OpenSlices {
    Place place;
    Stack stack;
  };
  struct Slice {
    const Place& at;
    int64_t start_ns;
    int64_t duration_ns;
    RangeKind kind;  ///< kBegin, kEnd: the other end is missing
    PerfettoEvent& event;
  };
  /// A flow id of an event; `ends`: of its list of terminating flows.
  struct FlowIdAt {
    int64_t time_ns = 0;
    uint64_t id = 0;
    bool ends = false;
    Place place;
  };
  struct LateEvent {
    int64_t time_ns = 0;
    uint64_t key = 0;
    Place place;
    PerfettoEvent event;
  };

  const PerfettoTracks::Track& trackOf(const PerfettoSequence& sequence, uint64_t sequence_id,
                                       const PerfettoRead& r);
  std::optional<int64_t> timeOf(uint64_t sequence_id, std::optional<int64_t> time_ns,
                                const PerfettoRead& r);
  bool takeMetadata(const PerfettoSequence& sequence, const PerfettoRead& r);
  void resolveLinks(PerfettoSequence& sequence, PerfettoRead& r);
  void writeThreadCounters(int64_t time_ns, const PerfettoRead& r, const Place& place);
  void writeAttachedCounters(PerfettoSequence& sequence, int64_t time_ns, const PerfettoRead& r);
  void writeCounter(uint64_t track, int64_t time_ns, double value, PerfettoSequence& sequence);
  void apply(int64_t time_ns, uint64_t key, const Place& at, PerfettoEvent&& event);
  void writeArrow(const Place& place, int64_t time_ns, uint64_t id, FlowEnd end, StringId name,
                  StringId category);
  void writeArrows(const Place& place, int64_t time_ns, const PerfettoEvent& event);
  void writeFlowEnds();
  void writeSlice(const Slice& slice);
  // Each returns the table of the pushed row.
  TableId pushRow(const Slice& slice);
  TableId pushExported(const Slice& slice);
  TableId pushCall(const Slice& slice, CallKind kind);
  TableId pushRange(const Slice& slice);
  template <class Row>
  Row makeDeviceRow(const Slice& slice);

  TraceBuilder& builder_;
  KeptEvents& kept_;
  const PerfettoFirstPass& first_pass_;
  PerfettoClocks& clocks_;
  SpansOfSource& spans_;
  PerfettoStacks stacks_;
  PerfettoTracks tracks_;
  std::unordered_map<uint64_t, CallPathId> path_of_work_;  // by event id
  std::unordered_map<uint64_t, CounterTrackId> counters_;
  std::map<std::tuple<int64_t, int64_t, std::string_view>, CounterTrackId> thread_counters_;
  std::unordered_map<uint64_t, OpenSlices> open_;  // by track
  std::vector<LateEvent> late_;
  std::vector<FlowIdAt> flow_ends_;
  uint64_t unrelated_times_ = 0;
  uint64_t values_without_track_ = 0;
};

}  // namespace tracesmith::import
