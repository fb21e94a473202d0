// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_index.hpp"

#include <algorithm>
#include <tuple>

namespace tracesmith {

LaunchIndex::LaunchIndex(const Trace& trace) {
  const HostCallTable& calls = trace.host_call;
  uint64_t first = ~uint64_t{0};
  uint64_t last = 0;
  bool one_process = true;
  size_t count = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const uint64_t id = calls.correlation_id[i];
    if (id == 0) continue;
    if (count++ == 0) process_ = calls.process_id[i];
    one_process = one_process && calls.process_id[i] == process_;
    first = std::min(first, id);
    last = std::max(last, id);
  }
  if (count == 0) return;
  if (one_process && last - first < 16 * uint64_t{count} + 1024) {
    first_ = first;
    rows_.assign(static_cast<size_t>(last - first) + 1, kNone);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls.correlation_id[i] == 0) continue;
      uint32_t& row = rows_[static_cast<size_t>(calls.correlation_id[i] - first)];
      if (row == kNone) row = static_cast<uint32_t>(i);
    }
    return;
  }
  keys_.reserve(count);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls.correlation_id[i] == 0) continue;
    keys_.push_back({calls.correlation_id[i], calls.process_id[i], static_cast<uint32_t>(i)});
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    return std::tie(a.correlation_id, a.process, a.row) <
           std::tie(b.correlation_id, b.process, b.row);
  });
}

uint32_t LaunchIndex::find(ProcessId process, uint64_t correlation_id) const {
  if (correlation_id == 0) return kNone;
  if (!rows_.empty()) {
    const uint64_t at = correlation_id - first_;
    return process == process_ && at < rows_.size() ? rows_[static_cast<size_t>(at)] : kNone;
  }
  const auto it = std::lower_bound(
      keys_.begin(), keys_.end(), std::make_pair(correlation_id, process),
      [](const Key& key, const auto& wanted) {
        return std::tie(key.correlation_id, key.process) < std::tie(wanted.first, wanted.second);
      });
  const bool there =
      it != keys_.end() && it->correlation_id == correlation_id && it->process == process;
  return there ? it->row : kNone;
}

}  // namespace tracesmith
