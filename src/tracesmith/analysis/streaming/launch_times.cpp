// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/launch_times.hpp"

#include <algorithm>
#include <utility>

namespace tracesmith {

LaunchTimes::Chunk LaunchTimes::chunkOf(std::vector<WideCall>& calls, bool keeps_ends) {
  if (!std::is_sorted(calls.begin(), calls.end())) std::sort(calls.begin(), calls.end());
  Chunk chunk;
  chunk.first_id = calls.front().id;
  chunk.last_id = calls.back().id;
  int64_t last_start = chunk.first_start = calls.front().start;
  int64_t longest = 0;
  for (const WideCall& call : calls) {
    chunk.first_start = std::min(chunk.first_start, call.start);
    last_start = std::max(last_start, call.start);
    longest = std::max(longest, keeps_ends ? lengthOf(call.start, call.end) : 0);
    if (keeps_ends && call.end < call.start) longest = INT64_MAX;  // does not fit
  }
  const bool fits = chunk.last_id - chunk.first_id <= UINT32_MAX &&
                    lengthOf(chunk.first_start, last_start) <= UINT32_MAX && longest <= UINT32_MAX;
  if (!fits) {
    chunk.wide = std::move(calls);
    chunk.wide.shrink_to_fit();
    return chunk;
  }
  chunk.ids.reserve(calls.size());
  chunk.starts.reserve(calls.size());
  if (keeps_ends) chunk.lengths.reserve(calls.size());
  for (const WideCall& call : calls) {
    chunk.ids.push_back(static_cast<uint32_t>(call.id - chunk.first_id));
    chunk.starts.push_back(static_cast<uint32_t>(call.start - chunk.first_start));
    if (keeps_ends) chunk.lengths.push_back(static_cast<uint32_t>(call.end - call.start));
  }
  return chunk;
}

LaunchTimes::Block LaunchTimes::blockOf(const HostCallTable& calls, bool keeps_ends) {
  std::map<ProcessId, std::vector<WideCall>> by_process;
  std::vector<WideCall>* of_process = nullptr;
  ProcessId last{};
  Block block;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls.correlation_id[i] == 0) continue;
    if (of_process == nullptr || calls.process_id[i] != last) {
      last = calls.process_id[i];
      of_process = &by_process[last];
      of_process->reserve(calls.size());
    }
    const int64_t start = calls.start_ns[i];
    of_process->push_back(
        {calls.correlation_id[i], start, keeps_ends ? endOf(start, calls.duration_ns[i]) : kNone});
    ++block.calls;
  }
  for (auto& [process, all] : by_process) block.chunks.emplace(process, chunkOf(all, keeps_ends));
  return block;
}

void LaunchTimes::add(Block&& block) {
  calls_ += block.calls;
  for (auto& [process, chunk] : block.chunks) {
    processes_[process].chunks.push_back(std::move(chunk));
  }
}

void LaunchTimes::finish() {
  for (auto& [id, process] : processes_) {
    std::stable_sort(process.chunks.begin(), process.chunks.end(),
                     [](const Chunk& a, const Chunk& b) { return a.first_id < b.first_id; });
    uint64_t last = 0;
    for (const Chunk& chunk : process.chunks) {
      process.last_so_far.push_back(last = std::max(last, chunk.last_id));
    }
  }
}

LaunchTimes::Call LaunchTimes::Chunk::find(uint64_t id, bool& is_repeated) const {
  if (!wide.empty()) {
    const auto at = std::lower_bound(wide.begin(), wide.end(), id,
                                     [](const WideCall& call, uint64_t n) { return call.id < n; });
    if (at == wide.end() || at->id != id) return {};
    is_repeated = is_repeated || (at + 1 != wide.end() && (at + 1)->id == id);
    return {at->start, at->end};
  }
  const auto wanted = static_cast<uint32_t>(id - first_id);
  const auto at = std::lower_bound(ids.begin(), ids.end(), wanted);
  if (at == ids.end() || *at != wanted) return {};
  is_repeated = is_repeated || (at + 1 != ids.end() && *(at + 1) == wanted);
  const auto i = static_cast<size_t>(at - ids.begin());
  const int64_t start = first_start + starts[i];
  return {start, lengths.empty() ? kNone : start + lengths[i]};
}

LaunchTimes::Call LaunchTimes::find(ProcessId process, uint64_t correlation_id,
                                    bool& is_repeated) const {
  if (correlation_id == 0) return {};
  const Call call = findHere(process, correlation_id, is_repeated);
  if (call.start_ns != kNone || earlier_ == nullptr) return call;
  return earlier_->find(process, correlation_id, is_repeated);
}

LaunchTimes::Call LaunchTimes::findHere(ProcessId process, uint64_t correlation_id,
                                        bool& is_repeated) const {
  const auto known = processes_.find(process);
  if (known == processes_.end()) return {};
  const OfProcess& all = known->second;
  const auto after =
      std::upper_bound(all.chunks.begin(), all.chunks.end(), correlation_id,
                       [](uint64_t id, const Chunk& chunk) { return id < chunk.first_id; });
  Call found;
  for (auto i = static_cast<size_t>(after - all.chunks.begin());
       i > 0 && all.last_so_far[i - 1] >= correlation_id; --i) {
    const Chunk& chunk = all.chunks[i - 1];
    if (chunk.last_id < correlation_id) continue;
    const Call call = chunk.find(correlation_id, is_repeated);
    if (call.start_ns == kNone) continue;
    is_repeated = is_repeated || found.start_ns != kNone;
    found = call;
  }
  return found;
}

}  // namespace tracesmith
