// SPDX-License-Identifier: Apache-2.0
// Converts AMD agents (the processors known to the HSA runtime, including CPUs) to devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

/// An agent as rocprofv3 describes it, in JSON or in *_agent_info.csv.
struct RocprofAgent {
  int64_t id = -1;  ///< by which records refer to it
  bool gpu = false;
  bool cpu = false;
  int64_t ordinal = -1;  ///< counted within its type
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
/// `json`: an entry of the list "agents".
void addRocprofAgent(std::string_view json, TraceBuilder& builder);

}  // namespace tracesmith::import
