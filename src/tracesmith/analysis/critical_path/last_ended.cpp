// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/critical_path/last_ended.hpp"

#include <algorithm>

#include "tracesmith/base/huge_pages.hpp"

namespace tracesmith {

LastEnded::LastEnded(const DeviceOps& ops, const OpOrders& orders) : ops_(ops) {
  std::map<DeviceId, size_t> streams_of;
  for (const StreamOps& stream : ops.streams) ++streams_of[stream.device];
  std::set<DeviceId> listed_devices;
  std::vector<bool> is_listed;  // by stream
  for (const StreamOps& stream : ops.streams) {
    const ProcessId process = ops.ops[stream.begin].process;
    const bool has_one_process =
        std::all_of(ops.ops.begin() + stream.begin, ops.ops.begin() + stream.end,
                    [&](const DeviceOp& op) { return op.process == process; });
    is_listed.push_back(!endInOrder(stream));
    const ByEnd range{.first = stream.begin, .size = stream.end - stream.begin};
    if (!is_listed.back()) by_stream_[stream.stream] = range;
    if (!is_listed.back() && streams_of[stream.device] == 1 && has_one_process) {
      by_device_[{process, stream.device}] = range;
    } else {
      listed_devices.insert(stream.device);
    }
  }
  if (!listed_devices.empty()) listOps(orders, is_listed, listed_devices);
}

void LastEnded::listOps(const OpOrders& orders, const std::vector<bool>& is_listed,
                        const std::set<DeviceId>& listed_devices) {
  std::vector<bool> is_on_listed;  // by stream
  std::map<std::pair<ProcessId, DeviceId>, size_t> sizes;
  for (const StreamOps& stream : ops_.streams) {
    is_on_listed.push_back(listed_devices.contains(stream.device));
    if (is_on_listed.back()) {
      sizes[{ops_.ops[stream.begin].process, stream.device}] += stream.end - stream.begin;
    }
  }
  // Most streams are of one process, so that this is exact.
  for (const auto& [place, size] : sizes) reserveInLargePages(by_device_[place].list, size);
  const auto add = [](ByEnd& to, uint32_t op) {
    to.list.push_back(op);
    ++to.size;
  };
  for (const uint32_t i : orders.by_end) {
    const DeviceOp& op = ops_.ops[i];
    if (op.table == TableId::kSync) continue;
    const uint32_t stream = ops_.streamIndexOf(i);
    if (is_listed[stream]) add(by_stream_[op.stream], i);
    if (is_on_listed[stream]) add(by_device_[{op.process, ops_.streams[stream].device}], i);
  }
}

bool LastEnded::endInOrder(const StreamOps& stream) const {
  for (uint32_t i = stream.begin; i < stream.end; ++i) {
    if (ops_.ops[i].table == TableId::kSync) return false;
    if (i > stream.begin && ops_.ops[i].end_ns < ops_.ops[i - 1].end_ns) return false;
  }
  return true;
}

uint32_t LastEnded::onDevice(ProcessId process, DeviceId device, int64_t by_ns) const {
  uint32_t last = kNone;
  const auto consider = [&](const ByEnd& by_end) {
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

/// Searches from the last answer on, in steps that double.
uint32_t LastEnded::lastOf(const ByEnd& by_end, int64_t by_ns) const {
  const auto hasEnded = [&](uint32_t i) { return ops_.ops[by_end.at(i)].end_ns <= by_ns; };
  // All before `low` have ended; those from `high` on have not.
  uint32_t low = 0, high = by_end.size;
  uint32_t step = 1;
  const uint32_t start = by_end.last_answer;
  if (start > 0 && !hasEnded(start - 1)) {
    high = start - 1;
    while (high > 0 && !hasEnded(high - std::min(step, high))) {
      high -= std::min(step, high);
      step *= 2;
    }
    low = high - std::min(step, high);
  } else {
    low = start;
    while (low < by_end.size && hasEnded(std::min(low + step, by_end.size) - 1)) {
      low = std::min(low + step, by_end.size);
      step *= 2;
    }
    high = std::min(low + step, by_end.size);
  }
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (hasEnded(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  by_end.last_answer = low;
  return low == 0 ? kNone : by_end.at(low - 1);
}

}  // namespace tracesmith
