// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops.hpp"

#include <algorithm>
#include <array>

#include "tracesmith/analysis/timing/hta_rules.hpp"
#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {

int64_t HostCallTimes::roundedBegin(size_t row) const { return hta::beginOf(starts_[row]); }
int64_t HostCallTimes::roundedEnd(size_t row) const {
  return hta::endOf(starts_[row], durations_[row]);
}

std::string_view toString(WorkClass c) {
  constexpr std::array<std::string_view, kWorkClasses> kNames = {"compute", "communication",
                                                                 "memory", "other"};
  return kNames[static_cast<size_t>(c)];
}

WorkClass classOfKernel(std::string_view name) {
  return isCollectiveKernel(name) ? WorkClass::kCommunication : WorkClass::kCompute;
}

uint32_t DeviceOps::searchStreamOf(uint32_t op) const {
  const auto after = std::upper_bound(
      streams.begin(), streams.end(), op,
      [](uint32_t index, const StreamOps& stream) { return index < stream.begin; });
  return static_cast<uint32_t>(after - streams.begin()) - 1;
}

}  // namespace tracesmith
