// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/thread_states.hpp"

namespace tracesmith {

void ThreadStates::give(uint64_t key, const Open& open, int64_t end_ns,
                        std::string_view before) const {
  if (open.state == RunState::kUnknown || end_ns <= open.since_ns) return;
  take_({.start_ns = open.since_ns,
         .duration_ns = end_ns - open.since_ns,
         .process = static_cast<uint32_t>(key >> 32),
         .tid = static_cast<uint32_t>(key),
         .cpu = open.cpu,
         .state = open.state,
         .instead = std::string(open.state == RunState::kRunnable ? before : std::string_view())});
}

void ThreadStates::change(uint64_t key, const Open& next, std::string_view before) {
  const auto [it, is_new] = open_.try_emplace(key, next);
  if (is_new) return;
  give(key, it->second, next.since_ns, before);
  if (next.state == RunState::kRunning && next.cpu != it->second.cpu && !it->second.is_new &&
      migrated_) {
    migrated_(static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key), next.since_ns);
  }
  it->second = next;
}

void ThreadStates::begin(uint32_t process, uint32_t tid, uint32_t cpu, RunState state,
                         int64_t time_ns) {
  open_[keyOf(process, tid)] = {
      .since_ns = time_ns, .cpu = cpu, .state = state, .is_new = state == RunState::kRunnable};
}

void ThreadStates::leave(uint32_t process, uint32_t tid, uint32_t cpu, RunState state,
                         int64_t time_ns) {
  change(keyOf(process, tid), {.since_ns = time_ns, .cpu = cpu, .state = state});
}

bool ThreadStates::wake(uint32_t process, uint32_t tid, int64_t time_ns) {
  const uint64_t key = keyOf(process, tid);
  const auto it = open_.find(key);
  if (it == open_.end() || !isWait(it->second.state)) return false;
  change(key, {.since_ns = time_ns, .cpu = it->second.cpu, .state = RunState::kRunnable});
  return true;
}

void ThreadStates::enter(uint32_t process, uint32_t tid, uint32_t cpu, int64_t time_ns,
                         std::string_view before) {
  change(keyOf(process, tid), {.since_ns = time_ns, .cpu = cpu, .state = RunState::kRunning},
         before);
}

void ThreadStates::end(uint32_t process, uint32_t tid, int64_t time_ns) {
  const auto it = open_.find(keyOf(process, tid));
  if (it == open_.end()) return;
  give(it->first, it->second, time_ns);
  open_.erase(it);
}

void ThreadStates::endOthers(uint32_t process, uint32_t tid, int64_t time_ns) {
  std::erase_if(open_, [&](const auto& entry) {
    const auto& [key, open] = entry;
    if (key >> 32 != process || static_cast<uint32_t>(key) == tid) return false;
    give(key, open, time_ns);
    return true;
  });
}

void ThreadStates::finish(int64_t time_ns) {
  for (const auto& [key, open] : open_) give(key, open, time_ns);
  open_.clear();
}

}  // namespace tracesmith
