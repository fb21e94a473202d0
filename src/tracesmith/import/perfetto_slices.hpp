// SPDX-License-Identifier: Apache-2.0
// Track events of a Perfetto trace as rows: slices, instants, arrows and counters on their tracks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/import/kept_event.hpp"
#include "tracesmith/import/perfetto_sequence.hpp"
#include "tracesmith/import/perfetto_stacks.hpp"
#include "tracesmith/import/perfetto_survey.hpp"
#include "tracesmith/import/span_of_source.hpp"

namespace tracesmith::import {

class PerfettoSlices {
 public:
  PerfettoSlices(TraceBuilder& builder, KeptEvents& kept, const PerfettoSurvey& survey,
                 SpansOfSource& spans)
      : builder_(builder), kept_(kept), survey_(survey), spans_(spans), stacks_(builder, survey) {}

  /// Names of all processes and threads that are described.
  void describe();
  /// False: it is of no known kind.
  bool event(PerfettoSequence& sequence, uint64_t sequence_id, int64_t time_ns,
             std::string_view bytes);
  /// Slices that never end, and events of shared tracks in the order of time.
  void finish();

  /// What device work with that event id is joined to its call by; 0: by nothing.
  uint64_t correlationOf(uint64_t event_id) const;
  /// The thread of the call that submitted it.
  ThreadId submitterOf(uint64_t event_id);
  /// The call stack of that call, if it stands before in the file.
  CallPathId callPathOf(uint64_t event_id) const;
  uint64_t unknownTracks() const { return unknown_tracks_; }

 private:
  struct Place {
    int64_t pid = 0;
    ProcessId process{};
    ThreadId thread{};
  };
  struct Event {
    uint64_t type = 0;
    uint64_t track = 0;
    StringId name{};
    StringId category{};
    int64_t duration_ns = -1;  // of what has begin and end in one
    uint64_t correlation = 0;
    CallPathId call_path{};
    std::vector<uint64_t> flows, ending_flows, waited_for;
    bool submits = false;
    std::unordered_map<std::string_view, int64_t> numbers;  // of annotations that columns want
    std::unordered_map<std::string_view, StringId> words;
    KeptEvent kept;
  };
  struct Open {
    int64_t start_ns = 0;
    Event event;
  };
  struct Late {
    int64_t time_ns = 0;
    Event event;
  };

  Place placeOf(uint64_t track);
  Place place(uint64_t track);
  ThreadId namedTrack(int64_t pid, std::string_view name);
  void annotation(const PerfettoSequence& sequence, std::string_view bytes, Event& event);
  void legacy(const PerfettoSequence& sequence, std::string_view bytes, Event& event);
  void counter(uint64_t track, int64_t time_ns, double value, PerfettoSequence& sequence);
  void apply(int64_t time_ns, Event&& event);
  void arrows(const Place& place, int64_t time_ns, const Event& event);
  void slice(const Place& place, int64_t start_ns, int64_t duration_ns, RangeKind kind,
             Event& event);

  TraceBuilder& builder_;
  KeptEvents& kept_;
  const PerfettoSurvey& survey_;
  SpansOfSource& spans_;
  PerfettoStacks stacks_;
  std::unordered_map<uint64_t, CallPathId> path_of_work_;  // by event id
  std::unordered_map<uint64_t, Place> places_;
  std::map<std::pair<int64_t, std::string>, ThreadId> named_tracks_;
  std::unordered_map<uint64_t, CounterTrackId> counters_;
  std::unordered_map<uint64_t, std::vector<Open>> open_;
  std::vector<Late> late_;
  std::unordered_set<uint64_t> flows_seen_;
  uint64_t unknown_tracks_ = 0;
};

}  // namespace tracesmith::import
