// SPDX-License-Identifier: Apache-2.0
// One decoded TrackEvent with its references resolved: content, track, and time if it has its own.
// LegacyEvent, the protobuf form of Chrome's JSON, is decoded into the same structure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"

namespace tracesmith::import {

enum class PerfettoAction : uint8_t {
  kNone,   ///< has no row in any table
  kBegin,  ///< of a slice
  kEnd,    ///< of a slice
  kInstant,
  kComplete,  ///< a slice with a duration
  kCounter,
  kFlow,      ///< only one end of a flow
  kMetadata,  ///< a name of a process or thread
};

/// The part of an event that becomes a row, possibly much later.
struct PerfettoEvent {
  PerfettoAction action{};
  StringId name{};
  StringId category{};
  int64_t duration_ns = -1;  // only for kComplete
  uint64_t correlation = 0;
  CallPathId call_path{};
  std::vector<uint64_t> flows, ending_flows, waited_for;
  std::vector<std::pair<uint64_t, FlowEnd>> bound;  // flows with the end that this event is
  bool submits = false;
  // Annotations whose values go to columns.
  std::vector<std::pair<std::string_view, int64_t>> numbers;
  std::vector<std::pair<std::string_view, StringId>> words;
  KeptEvent kept;

  /// If an annotation occurs twice, the last one counts. nullptr: there is none.
  const int64_t* findNumber(std::string_view key) const { return find(numbers, key); }
  int64_t number(std::string_view key) const {
    const int64_t* const value = find(numbers, key);
    return value != nullptr ? *value : 0;
  }
  StringId word(std::string_view key) const {
    const StringId* const value = find(words, key);
    return value != nullptr ? *value : StringId::kNone;
  }

 private:
  template <class Value>
  static const Value* find(const std::vector<std::pair<std::string_view, Value>>& list,
                           std::string_view key) {
    const auto it = std::find_if(list.rbegin(), list.rend(),
                                 [&](const auto& named) { return named.first == key; });
    return it != list.rend() ? &it->second : nullptr;
  }
};

/// Identifies an asynchronous track; several threads may write to it.
struct PerfettoAsyncId {
  enum Kind : uint8_t { kNone, kUnscoped, kGlobal, kLocal };
  Kind kind = kNone;
  uint64_t number = 0;
  std::string scope;
};

/// A decoded event together with its track and time.
struct PerfettoRead {
  PerfettoEvent event;
  uint64_t type = 0;
  char phase = 0;  ///< of LegacyEvent
  bool async = false;
  PerfettoAsyncId async_id;
  uint64_t track = 0;
  bool has_track = false;
  std::optional<int64_t> pid, tid;  ///< if not on the sequence's thread
  std::optional<int64_t> time_ns;   ///< in CLOCK_MONOTONIC
  bool has_own_time = false;        ///< also true if that time is impossible
  std::optional<int64_t> thread_time_ns, instructions;
  std::optional<double> value;
  std::vector<uint64_t> extra_tracks, extra_double_tracks;
  std::vector<int64_t> extra_values;
  std::vector<double> extra_doubles;
  std::optional<uint64_t> bind_id;
  uint64_t flow_direction = 0;
  uint64_t instant_scope = 0;
  StringId first_text{};  ///< among its annotations
  std::optional<proto::Field> call_stack;
  std::vector<uint64_t> submitted;  ///< event ids of device work
};

/// Advances the incremental times of `sequence`.
PerfettoRead readTrackEvent(PerfettoSequence& sequence, std::string_view bytes,
                            TraceBuilder& builder, SpansOfSource& spans);

}  // namespace tracesmith::import
