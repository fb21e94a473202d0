// SPDX-License-Identifier: Apache-2.0
// One decoded GpuRenderStageEvent: what the device did, when, on which queue and with which
// arguments. Names and queues are still the packet's numbers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/source_event.hpp"
#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"

namespace tracesmith::import {

struct PerfettoStageEvent {
  std::optional<uint64_t> id;  ///< nullopt: the packet is not an event
  bool specifies = false;      ///< the packet describes queues and stages
  int64_t duration_ns = 0;
  int64_t gpu = 0;
  uint64_t context = 0;
  // Interned ids, or, in older sources, positions in the list of specifications.
  std::optional<uint64_t> queue_iid, stage_iid;
  uint64_t queue_id = 0, stage_id = 0;
  uint64_t kernel_iid = 0;
  StringId name{};
  std::vector<uint64_t> waits;  ///< event ids
  std::vector<PerfettoArgument> arguments;
  std::array<uint64_t, 3> grid{}, group{};
  std::map<std::string, StringId, std::less<>> extra;
  KeptEvent kept;

  bool hasExtra(std::string_view key) const { return extra.contains(key); }
};

/// Fields that no column can hold are in `kept`.
PerfettoStageEvent readStageEvent(const PerfettoSequence& sequence, std::string_view bytes,
                                  TraceBuilder& builder, SpansOfSource& spans);

/// The duration for the row. If a row cannot hold `said_ns`, adds that to `kept`.
int64_t readDuration(uint64_t said_ns, SpansOfSource& spans, KeptEvent& kept);

}  // namespace tracesmith::import
