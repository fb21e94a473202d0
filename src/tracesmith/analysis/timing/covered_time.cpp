// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/covered_time.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

CoveredTime::CoveredTime(std::vector<Interval> intervals) : union_(unionOf(std::move(intervals))) {
  before_.reserve(union_.size());
  int64_t total = 0;
  for (const Interval& i : union_) {
    before_.push_back(total);
    total = endOf(total, lengthOf(i.begin_ns, i.end_ns));
  }
}

int64_t CoveredTime::within(int64_t begin_ns, int64_t end_ns) const {
  return end_ns <= begin_ns ? 0 : before(end_ns) - before(begin_ns);
}

int64_t CoveredTime::before(int64_t time) const {
  const auto after = std::upper_bound(union_.begin(), union_.end(), time,
                                      [](int64_t t, const Interval& i) { return t < i.begin_ns; });
  if (after == union_.begin()) return 0;
  const auto at = static_cast<size_t>(after - union_.begin()) - 1;
  return before_[at] + lengthOf(union_[at].begin_ns, std::min(time, union_[at].end_ns));
}

std::map<DeviceId, CoveredTime> computeTimes(const DeviceOps& ops) {
  std::map<DeviceId, std::vector<Interval>> intervals;
  for (const StreamOps& stream : ops.streams) {
    std::vector<Interval>& of_device = intervals[stream.device];
    for (uint32_t i = stream.begin; i < stream.end; ++i) {
      const DeviceOp& op = ops.ops[i];
      if (op.work == WorkClass::kCompute) of_device.push_back({op.begin_ns, op.end_ns});
    }
  }
  std::map<DeviceId, CoveredTime> out;
  for (auto& [device, of_device] : intervals) {
    if (!of_device.empty()) out.emplace(device, CoveredTime(std::move(of_device)));
  }
  return out;
}

}  // namespace tracesmith
