// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/hta_rules.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tracesmith::hta {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool beginsWithAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.starts_with(part); });
}

/// Of 0.5.0 (hta/utils/utils.py).
WorkClass classOfRelease(std::string_view name) {
  if (name.starts_with("nccl") && holds(name.substr(4), "Kernel")) {
    return WorkClass::kCommunication;
  }
  if (beginsWithAny(name, {"Memcpy", "Memset", "dma"})) return WorkClass::kMemory;
  return holds(name, "Memcpy") || holds(name, "Sync") ? WorkClass::kOther : WorkClass::kCompute;
}

/// Of the main branch (hta/common/types.py).
WorkClass classOfMain(std::string_view name) {
  if (beginsWithAny(name, {"nccl", "hip", "hccl"}) || holds(name, "ncclKernel")) {
    return WorkClass::kCommunication;
  }
  if (beginsWithAny(name, {"Memcpy", "Memset", "dma"})) return WorkClass::kMemory;
  const bool launch = holds(name, "cuda") && holds(name.substr(name.find("cuda")), "LaunchKernel");
  const bool other =
      holds(name, "Memcpy") || holds(name, "Memset") || holds(name, "dma") || holds(name, "Sync") ||
      launch ||
      beginsWithAny(name, {"Stream Wait Event", "runFunction", "job_exe", "packet", "pe_exe",
                           "cpum_exe_subgraph", "collective_subgraph_execution"});
  return other ? WorkClass::kOther : WorkClass::kCompute;
}

double micros(int64_t ns) { return static_cast<double>(static_cast<long double>(ns) / 1000.0L); }

}  // namespace

WorkClass classOf(std::string_view name, bool main_branch) {
  return main_branch ? classOfMain(name) : classOfRelease(name);
}

int64_t beginOf(int64_t start_ns) {
  return static_cast<int64_t>(std::ceil(micros(start_ns))) * 1000;
}
int64_t endOf(int64_t start_ns, int64_t duration_ns) {
  return static_cast<int64_t>(std::floor(micros(start_ns) + micros(duration_ns))) * 1000;
}

std::optional<int64_t> lastStepBegin(const Trace& trace) {
  bool several = false;
  int64_t last_ns = INT64_MIN;
  StringId first{};
  const RangeTable& ranges = trace.range;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges.kind[i] != RangeKind::kRange ||
        !trace.text(ranges.name[i]).starts_with("ProfilerStep")) {
      continue;
    }
    if (first == StringId::kNone) first = ranges.name[i];
    several = several || ranges.name[i] != first;
    last_ns = std::max(last_ns, beginOf(ranges.start_ns[i]));
  }
  return several ? std::optional(last_ns) : std::nullopt;
}

}  // namespace tracesmith::hta
