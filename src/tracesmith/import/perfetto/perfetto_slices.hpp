// SPDX-License-Identifier: Apache-2.0
// Track events of a Perfetto trace as rows: slices, instants, arrows and counters on their tracks.
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

/// What became of an event of a packet.
enum class PerfettoOutcome : uint8_t {
  kRow,
  kDescription,  ///< it says something of others, which have it
  kKept,         ///< as it was, without a row
  kUnusable,     ///< it has no time, or too little in it
};

class PerfettoSlices {
 public:
  PerfettoSlices(TraceBuilder& builder, KeptEvents& kept, const PerfettoSurvey& survey,
                 PerfettoClocks& clocks, SpansOfSource& spans)
      : builder_(builder),
        kept_(kept),
        survey_(survey),
        clocks_(clocks),
        spans_(spans),
        stacks_(builder, survey),
        places_(builder, survey) {}

  /// Names of all processes and threads that are described.
  void describe() { places_.describe(); }
  /// `packet_ns`: the packet's time; the event may have one of its own.
  PerfettoOutcome event(PerfettoSequence& sequence, uint64_t sequence_id,
                        std::optional<int64_t> packet_ns, std::string_view bytes);
  /// Slices that never end, and events of unordered tracks in the order of time.
  void finish();

  /// What device work with that event id is joined to its call by; 0: by nothing.
  uint64_t correlationOf(uint64_t event_id) const;
  /// The thread of the call that submitted it.
  ThreadId submitterOf(uint64_t event_id);
  /// The call stack of that call, if it stands before in the file.
  CallPathId callPathOf(uint64_t event_id) const;
  uint64_t unknownTracks() const { return places_.unknownTracks(); }
  /// Times of CLOCK_MONOTONIC, which no snapshot relates to the trace's clock.
  uint64_t unrelatedTimes() const { return unrelated_times_; }

 private:
  using Place = PerfettoPlaces::Place;
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
  struct Late {
    int64_t time_ns = 0;
    uint64_t key = 0;
    Place place;
    PerfettoEvent event;
  };

  const PerfettoPlaces::Track& trackOf(const PerfettoSequence& sequence, uint64_t sequence_id,
                                       const PerfettoRead& r);
  std::optional<int64_t> timeOf(uint64_t sequence_id, std::optional<int64_t> time_ns,
                                const PerfettoRead& r);
  bool metadata(const PerfettoSequence& sequence, const PerfettoRead& r);
  void links(PerfettoSequence& sequence, PerfettoRead& r);
  void threadCounters(int64_t time_ns, const PerfettoRead& r, const Place& place);
  void countersBeside(PerfettoSequence& sequence, int64_t time_ns, const PerfettoRead& r);
  void counter(uint64_t track, int64_t time_ns, double value, PerfettoSequence& sequence);
  void apply(int64_t time_ns, uint64_t key, const Place& at, PerfettoEvent&& event);
  void arrow(const Place& place, int64_t time_ns, uint64_t id, FlowEnd end, StringId name,
             StringId category);
  void arrows(const Place& place, int64_t time_ns, const PerfettoEvent& event);
  void slice(const Slice& slice);
  // Each returns the table that it gave a row to.
  TableId pushRow(const Slice& slice);
  TableId pushExported(const Slice& slice);
  TableId pushCall(const Slice& slice, CallKind kind);
  TableId pushRange(const Slice& slice);
  template <class Row>
  Row makeDeviceRow(const Slice& slice);

  TraceBuilder& builder_;
  KeptEvents& kept_;
  const PerfettoSurvey& survey_;
  PerfettoClocks& clocks_;
  SpansOfSource& spans_;
  PerfettoStacks stacks_;
  PerfettoPlaces places_;
  std::unordered_map<uint64_t, CallPathId> path_of_work_;  // by event id
  std::unordered_map<uint64_t, CounterTrackId> counters_;
  std::map<std::tuple<int64_t, int64_t, std::string_view>, CounterTrackId> thread_counters_;
  std::unordered_map<uint64_t, OpenSlices> open_;  // by track
  std::vector<Late> late_;
  std::unordered_set<uint64_t> flows_seen_;
  uint64_t unrelated_times_ = 0;
};

}  // namespace tracesmith::import
