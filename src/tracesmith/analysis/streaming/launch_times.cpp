// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/launch_times.hpp"

#include <algorithm>
#include <utility>

namespace tracesmith {

LaunchTimes::Chunk LaunchTimes::chunkOf(std::vector<std::pair<uint64_t, int64_t>>& calls) {
  if (!std::is_sorted(calls.begin(), calls.end())) std::sort(calls.begin(), calls.end());
  Chunk chunk;
  chunk.first_id = calls.front().first;
  chunk.last_id = calls.back().first;
  int64_t last_start = chunk.first_start = calls.front().second;
  for (const auto& [id, start] : calls) {
    chunk.first_start = std::min(chunk.first_start, start);
    last_start = std::max(last_start, start);
  }
  const bool fits = chunk.last_id - chunk.first_id <= UINT32_MAX &&
                    lengthOf(chunk.first_start, last_start) <= UINT32_MAX;
  if (!fits) {
    chunk.wide = std::move(calls);
    chunk.wide.shrink_to_fit();
    return chunk;
  }
  chunk.ids.reserve(calls.size());
  chunk.starts.reserve(calls.size());
  for (const auto& [id, start] : calls) {
    chunk.ids.push_back(static_cast<uint32_t>(id - chunk.first_id));
    chunk.starts.push_back(static_cast<uint32_t>(start - chunk.first_start));
  }
  return chunk;
}

LaunchTimes::Block LaunchTimes::blockOf(const HostCallTable& calls) {
  std::map<ProcessId, std::vector<std::pair<uint64_t, int64_t>>> by_process;
  std::vector<std::pair<uint64_t, int64_t>>* of_process = nullptr;
  ProcessId last{};
  Block block;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls.correlation_id[i] == 0) continue;
    if (of_process == nullptr || calls.process_id[i] != last) {
      last = calls.process_id[i];
      of_process = &by_process[last];
      of_process->reserve(calls.size());
    }
    of_process->emplace_back(calls.correlation_id[i], calls.start_ns[i]);
    ++block.calls;
  }
  for (auto& [process, all] : by_process) block.chunks.emplace(process, chunkOf(all));
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

int64_t LaunchTimes::Chunk::find(uint64_t id, bool& is_repeated) const {
  if (!wide.empty()) {
    const auto at = std::lower_bound(wide.begin(), wide.end(), std::pair(id, INT64_MIN));
    if (at == wide.end() || at->first != id) return kNone;
    is_repeated = is_repeated || (at + 1 != wide.end() && (at + 1)->first == id);
    return at->second;
  }
  const auto wanted = static_cast<uint32_t>(id - first_id);
  const auto at = std::lower_bound(ids.begin(), ids.end(), wanted);
  if (at == ids.end() || *at != wanted) return kNone;
  is_repeated = is_repeated || (at + 1 != ids.end() && *(at + 1) == wanted);
  return first_start + starts[static_cast<size_t>(at - ids.begin())];
}

int64_t LaunchTimes::find(ProcessId process, uint64_t correlation_id, bool& is_repeated) const {
  if (correlation_id == 0) return kNone;
  const auto known = processes_.find(process);
  if (known == processes_.end()) return kNone;
  const OfProcess& all = known->second;
  const auto after =
      std::upper_bound(all.chunks.begin(), all.chunks.end(), correlation_id,
                       [](uint64_t id, const Chunk& chunk) { return id < chunk.first_id; });
  int64_t found = kNone;
  for (auto i = static_cast<size_t>(after - all.chunks.begin());
       i > 0 && all.last_so_far[i - 1] >= correlation_id; --i) {
    const Chunk& chunk = all.chunks[i - 1];
    if (chunk.last_id < correlation_id) continue;
    const int64_t start = chunk.find(correlation_id, is_repeated);
    if (start == kNone) continue;
    is_repeated = is_repeated || found != kNone;
    found = start;
  }
  return found;
}

}  // namespace tracesmith
