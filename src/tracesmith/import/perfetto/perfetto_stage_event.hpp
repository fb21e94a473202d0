// SPDX-License-Identifier: Apache-2.0
// One GpuRenderStageEvent as it stands in a packet: what the device did, when, on which queue, and
// with which arguments. Names and queues are still the numbers that the packet has for them.
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
  std::optional<uint64_t> id;  ///< none: the packet is no event
  bool specifies = false;      ///< the packet describes queues and stages
  int64_t duration_ns = 0;
  int64_t gpu = 0;
  uint64_t context = 0;
  // By interned number, or, in older sources, by position in the list of specifications.
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

/// Fields that no table has a place for are in `kept`.
PerfettoStageEvent readStageEvent(const PerfettoSequence& sequence, std::string_view bytes,
                                  TraceBuilder& builder, SpansOfSource& spans);

/// The duration that a row can have; one that it cannot have is kept beside the row.
int64_t readDuration(uint64_t said_ns, SpansOfSource& spans, KeptEvent& kept);

}  // namespace tracesmith::import
