// SPDX-License-Identifier: Apache-2.0
// Properties of this machine that affect what can be recorded on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith::cli {

struct ClockFacts {
  std::string name;           ///< e.g. "CLOCK_MONOTONIC"
  int64_t resolution_ns = 0;  ///< as stated by the system
  int64_t read_cost_ns = 0;   ///< median of a few hundred reads
};

struct AgentFacts {
  std::string file;     ///< e.g. "libtracesmith-opencl.so"
  std::string path;     ///< "" if it was not found
  std::string problem;  ///< where it was searched for
};

struct SystemFacts {
  std::string os;      ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  ///< "Linux 6.1.0 x86_64"
  std::string cpu;
  int cpus = 0;  ///< CPUs that this process may use
  uint64_t memory_bytes = 0;
  uint64_t memory_available_bytes = 0;
  std::string clock_source;  ///< the kernel's clock source: tsc, hpet, ...
  std::vector<ClockFacts> clocks;
  std::vector<AgentFacts> agents;
  bool opencl_layers = false;  ///< the ICD loader supports OPENCL_LAYERS
};

SystemFacts systemFacts();

std::string systemText(const SystemFacts& facts);
/// Writes fields to an object that is already open.
void writeSystemJson(JsonWriter& json, const SystemFacts& facts);

}  // namespace tracesmith::cli
