// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_index.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/base/huge_pages.hpp"

namespace tracesmith {

LaunchIndex::LaunchIndex(const Trace& trace) : calls_(trace.host_call) {
  uint64_t first = ~uint64_t{0};
  uint64_t last = 0;
  bool one_process = true;
  size_t count = 0;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const uint64_t id = calls_.correlation_id[i];
    if (id == 0) continue;
    if (count++ == 0) process_ = calls_.process_id[i];
    one_process = one_process && calls_.process_id[i] == process_;
    first = std::min(first, id);
    last = std::max(last, id);
  }
  if (count == 0) return;
  if (one_process && last - first < 16 * uint64_t{count} + 1024) {
    first_ = first;
    reserveInLargePages(rows_, static_cast<size_t>(last - first) + 1);
    rows_.assign(static_cast<size_t>(last - first) + 1, kNone);
    bool distinct = true;
    for (size_t i = 0; i < calls_.size() && distinct; ++i) {
      if (calls_.correlation_id[i] == 0) continue;
      uint32_t& row = rows_[static_cast<size_t>(calls_.correlation_id[i] - first)];
      distinct = row == kNone;
      row = static_cast<uint32_t>(i);
    }
    if (distinct) return;
    rows_ = {};
  }
  keys_.reserve(count);
  addAll();
  sortRepeated();
}

void LaunchIndex::addAll() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_.correlation_id[i] == 0) continue;
    keys_.push_back({calls_.correlation_id[i], calls_.process_id[i], static_cast<uint32_t>(i)});
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    return std::tie(a.correlation_id, a.process, a.row) <
           std::tie(b.correlation_id, b.process, b.row);
  });
}

/// Sorts calls of equal ids by start, and removes those that lie within another one of the thread.
void LaunchIndex::sortRepeated() {
  const auto end_of = [&](const Key& key) {
    return endOf(calls_.start_ns[key.row], calls_.duration_ns[key.row]);
  };
  const auto earlier = [&](const Key& a, const Key& b) {
    return std::tuple(calls_.start_ns[a.row], ~end_of(a), a.row) <
           std::tuple(calls_.start_ns[b.row], ~end_of(b), b.row);
  };
  size_t kept = 0;
  for (size_t begin = 0, end = 0; begin < keys_.size(); begin = end) {
    while (end < keys_.size() && keys_[end].correlation_id == keys_[begin].correlation_id &&
           keys_[end].process == keys_[begin].process) {
      ++end;
    }
    const auto group = keys_.begin() + static_cast<std::ptrdiff_t>(begin);
    if (end - begin > 1)
      std::sort(group, keys_.begin() + static_cast<std::ptrdiff_t>(end), earlier);
    const size_t first = kept;
    for (size_t i = begin; i < end; ++i) {
      const Key key = keys_[i];
      const bool inside = kept > first &&
                          calls_.thread_id[key.row] == calls_.thread_id[keys_[kept - 1].row] &&
                          end_of(key) <= end_of(keys_[kept - 1]);
      if (!inside) keys_[kept++] = key;
    }
    has_repeated_ids_ = has_repeated_ids_ || kept > first + 1;
  }
  keys_.resize(kept);
}

std::span<const LaunchIndex::Key> LaunchIndex::find(ProcessId process, uint64_t correlation_id,
                                                    uint32_t& row) const {
  if (correlation_id == 0) return {};
  if (!rows_.empty()) {
    const uint64_t at = correlation_id - first_;
    if (process == process_ && at < rows_.size()) row = rows_[static_cast<size_t>(at)];
    return {};
  }
  const auto first = std::lower_bound(
      keys_.begin(), keys_.end(), std::make_pair(correlation_id, process),
      [](const Key& key, const auto& wanted) {
        return std::tie(key.correlation_id, key.process) < std::tie(wanted.first, wanted.second);
      });
  const auto last = std::upper_bound(first, keys_.end(), std::make_pair(correlation_id, process),
                                     [](const auto& wanted, const Key& key) {
                                       return std::tie(wanted.first, wanted.second) <
                                              std::tie(key.correlation_id, key.process);
                                     });
  if (last - first == 1) row = first->row;
  return last - first > 1 ? std::span(first, last) : std::span<const Key>();
}

void LaunchIndex::divide(std::vector<Work>& repeated, std::vector<uint32_t>& out) const {
  std::sort(repeated.begin(), repeated.end(), [](const Work& a, const Work& b) {
    return std::tuple(a.calls.data(), a.stream, a.start_ns, a.row) <
           std::tuple(b.calls.data(), b.stream, b.start_ns, b.row);
  });
  std::vector<uint32_t> all;  // calls with the id, by start
  std::map<StreamId, std::vector<uint32_t>> of_stream;
  for (size_t begin = 0, end = 0; begin < repeated.size(); begin = end) {
    if (begin == 0 || repeated[begin].calls.data() != repeated[begin - 1].calls.data()) {
      all.clear();
      of_stream.clear();
      for (const Key& key : repeated[begin].calls) {
        all.push_back(key.row);
        of_stream[calls_.stream_id[key.row]].push_back(key.row);
      }
      of_stream.erase(StreamId::kNone);
    }
    while (end < repeated.size() && repeated[end].calls.data() == repeated[begin].calls.data() &&
           repeated[end].stream == repeated[begin].stream) {
      ++end;
    }
    const auto same_stream = of_stream.find(repeated[begin].stream);
    const std::vector<uint32_t>& calls = same_stream == of_stream.end() ? all : same_stream->second;
    const size_t each = (end - begin) / calls.size();
    bool in_order = each > 0 && (end - begin) % calls.size() == 0;
    for (size_t k = 0; k < calls.size() && in_order; ++k) {
      in_order = calls_.start_ns[calls[k]] <= repeated[begin + k * each].start_ns;
    }
    for (size_t i = begin; i < end; ++i) {
      if (in_order) {
        out[repeated[i].row] = calls[(i - begin) / each];
        continue;
      }
      const auto later = std::upper_bound(
          calls.begin(), calls.end(), repeated[i].start_ns,
          [&](int64_t time, uint32_t call) { return time < calls_.start_ns[call]; });
      out[repeated[i].row] = later == calls.begin() ? calls.front() : *(later - 1);
    }
  }
}

}  // namespace tracesmith
