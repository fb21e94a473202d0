// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/last_ended.hpp"

#include <algorithm>
#include <iterator>

namespace tracesmith {

LastEnded::LastEnded(const DeviceOps& ops) : ops_(ops) {
  for (uint32_t i = 0; i < ops.ops.size(); ++i) {
    if (ops.ops[i].table != TableId::kSync) all_.push_back(i);
  }
  std::stable_sort(all_.begin(), all_.end(),
                   [&](uint32_t a, uint32_t b) { return ops.ops[a].end_ns < ops.ops[b].end_ns; });
  for (const uint32_t i : all_) {
    const DeviceOp& op = ops.ops[i];
    by_device_[{op.process, op.device}].push_back(i);
    by_stream_[op.stream].push_back(i);
  }
}

uint32_t LastEnded::onDevice(ProcessId process, DeviceId device, int64_t by_ns) const {
  uint32_t last = kNone;
  const auto consider = [&](const std::vector<uint32_t>& by_end) {
    const uint32_t here = lastOf(by_end, by_ns);
    if (here == kNone) return;
    if (last == kNone || ops_.ops[here].end_ns > ops_.ops[last].end_ns) last = here;
  };
  const auto considerAll = [&](ProcessId of) {
    for (auto it = by_device_.lower_bound({of, device});
         it != by_device_.end() && it->first.first == of &&
         (device == DeviceId::kNone || it->first.second == device);
         ++it) {
      consider(it->second);
    }
  };
  considerAll(process);
  if (process != ProcessId::kNone) considerAll(ProcessId::kNone);
  return last;
}

uint32_t LastEnded::onStream(StreamId stream, int64_t by_ns) const {
  const auto it = by_stream_.find(stream);
  return it == by_stream_.end() ? kNone : lastOf(it->second, by_ns);
}

uint32_t LastEnded::lastOf(const std::vector<uint32_t>& by_end, int64_t by_ns) const {
  const auto after =
      std::upper_bound(by_end.begin(), by_end.end(), by_ns,
                       [&](int64_t time, uint32_t op) { return time < ops_.ops[op].end_ns; });
  return after == by_end.begin() ? kNone : *std::prev(after);
}

}  // namespace tracesmith
