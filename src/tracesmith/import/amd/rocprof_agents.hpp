// SPDX-License-Identifier: Apache-2.0
// AMD's agents (processors that the HSA runtime knows, CPUs among them) as devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

/// What rocprofv3 says of an agent, in JSON or in *_agent_info.csv.
struct RocprofAgent {
  int64_t id = -1;  ///< what records call it by
  bool gpu = false;
  bool cpu = false;
  int64_t ordinal = -1;  ///< among those of its type
  std::string name, product, vendor, uuid;
  int64_t gfx_version = 0;  ///< 90402 is gfx942
  int64_t compute_units = 0;
  int64_t clock_mhz = 0;
  int64_t wave_size = 0;
  int64_t waves_per_unit = 0;
  int64_t group_size = 0;
  int64_t memory_bytes = 0;
  int64_t memory_clock_mhz = 0;
  int64_t memory_bits = 0;
  int64_t domain = -1;
  int64_t location = -1;  ///< PCI bus, device and function
};

void addRocprofAgent(const RocprofAgent& agent, TraceBuilder& builder);
/// An entry of the list "agents".
void addRocprofAgent(std::string_view json, TraceBuilder& builder);

}  // namespace tracesmith::import
