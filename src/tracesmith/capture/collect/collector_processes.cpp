// SPDX-License-Identifier: Apache-2.0
// The processes of a session: matches agents with the processes visible in /proc, and checks
// whether they are alive.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/system/sampled_processes.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kLivenessIntervalNs = 100'000'000;
/// Of a start that is known by the time of a fork: so many ticks it may be off.
constexpr uint64_t kTickSlack = 2;
uint64_t earliestOf(uint64_t ticks) { return ticks - std::min(ticks, kTickSlack); }

/// The signal that ended a recorded process because of a fault, or because memory was short.
std::string crashOf(const ProcessRow& row) {
  constexpr uint32_t kWanted = process_flags::kAgent | process_flags::kSignalled;
  if ((row.flags & kWanted) != kWanted) return {};
  if (!isCrash(static_cast<int>(row.exit_code))) return {};
  return fmt::format("signal {} ended process {}", row.exit_code, row.pid);
}

}  // namespace

ProcessId Collector::processId(const ProcessKey& key) {
  settleStart(key);
  auto [it, is_new] = process_rows_.try_emplace(key);
  if (is_new) {
    it->second.id = static_cast<ProcessId>(++shared_.processes);
    it->second.pid = std::get<0>(key);
    it->second.start_ticks = std::get<1>(key);
  }
  return it->second.id;
}

/// A process that the kernel told of may have ended before its start could be read.
ProcessId Collector::sampledProcess(const SampledProcess& process) {
  const ProcessKey key{process.pid, process.start_ticks, 0};
  if (process.start_ticks == 0) {  // its begin was not seen, nor is it there any more
    const auto after = process_rows_.upper_bound({process.pid, UINT64_MAX, UINT64_MAX});
    if (after != process_rows_.begin() && std::get<0>(std::prev(after)->first) == process.pid) {
      return std::prev(after)->second.id;
    }
  }
  if (!process.is_exact) {
    const auto near = process_rows_.lower_bound({process.pid, earliestOf(process.start_ticks), 0});
    if (near != process_rows_.end() && std::get<0>(near->first) == process.pid &&
        std::get<1>(near->first) <= process.start_ticks + kTickSlack) {
      return near->second.id;
    }
  }
  const bool is_new = !process_rows_.contains(key);
  const ProcessId id = processId(key);
  if (is_new) {
    // If it executes another program later, those who follow the processes tell (profile).
    const auto facts = process.is_exact ? readProcessFacts(process.pid) : Result<ProcessFacts>{};
    const bool is_same = facts && facts->start_ticks == process.start_ticks;
    noteProcess(
        key,
        {.pid = process.pid,
         .parent_pid = process.parent_pid,
         .start_ticks = process.start_ticks,
         .start_ns = process.start_ticks == 0 ? 0 : startTicksToMonotonicNs(process.start_ticks)},
        is_same ? facts->command_line : std::string(), is_same ? facts->executable : std::string(),
        {}, "kernel");
    if (!process.is_exact) uncertain_starts_.insert(key);
  }
  return id;
}

void Collector::noteOomKill(ProcessId process) {
  for (auto& [key, row] : process_rows_) {
    if (row.id != process) continue;
    row.flags |= process_flags::kOutOfMemory;
    shared_.delta.process.push(row);
  }
}

/// Gives the row of a process whose start was uncertain its exact one.
void Collector::settleStart(const ProcessKey& key) {
  if (uncertain_starts_.empty() || process_rows_.contains(key)) return;
  const auto& [pid, start_ticks, elsewhere] = key;
  const auto near = uncertain_starts_.lower_bound({pid, earliestOf(start_ticks), 0});
  if (near == uncertain_starts_.end() || std::get<0>(*near) != pid ||
      std::get<1>(*near) > start_ticks + kTickSlack || elsewhere != 0) {
    return;
  }
  auto row = process_rows_.extract(*near);
  uncertain_starts_.erase(near);
  if (row.empty()) return;
  row.key() = key;
  row.mapped().start_ticks = start_ticks;
  process_rows_.insert(std::move(row));
}

Collector::Process* Collector::findByOwnIds(uint32_t own_pid, uint64_t start_ticks,
                                            uint64_t pid_namespace) {
  for (const auto& [key, process] : processes_) {
    if (process->own_pid == own_pid && std::get<1>(process->key) == start_ticks &&
        process->pid_namespace == pid_namespace) {
      return process.get();
    }
  }
  return nullptr;
}

/// Adds the process of an arena. A process in another pid namespace, as in a container, has another
/// number here; it is then searched for among the visible processes.
Collector::Process& Collector::addProcess(arena::ArenaHeader& header) {
  const bool foreign = header.pid_namespace != 0 && header.pid_namespace != ownPidNamespace();
  SeenProcess seen{foreign ? header.seen_pid.load(std::memory_order_relaxed) : header.pid, true};
  if (seen.pid == 0) {
    seen = findProcess(header.pid_namespace, header.pid, header.start_ticks);
    header.seen_pid.store(seen.pid, std::memory_order_relaxed);
  }
  const ProcessKey key = seen.pid != 0
                             ? ProcessKey{seen.pid, header.start_ticks, 0}
                             : ProcessKey{header.pid, header.start_ticks, header.pid_namespace};
  std::unique_ptr<Process>& process = processes_[key];
  if (process == nullptr) {
    process = std::make_unique<Process>(shared_, processId(key), header.stamp_clock);
  }
  process->key = key;
  process->own_pid = header.pid;
  process->pid_namespace = header.pid_namespace;
  process->in_sight = seen.pid != 0;
  // Other processes of its namespace are visible, so this one has ended.
  if (!process->in_sight && seen.namespace_is_seen) process->alive = false;
  return *process;
}

Collector::Process& Collector::processOf(arena::ArenaHeader& header) {
  if (header.stamp_clock == arena::StampClockKind::kTimeStampCounter) {
    shared_.stamps.add({header.paired_ns, header.paired_stamp, 1'000});
  }
  Process* process = findByOwnIds(header.pid, header.start_ticks, header.pid_namespace);
  if (process == nullptr) process = &addProcess(header);
  const auto pid = std::get<0>(process->key);
  uint32_t parent_pid = header.parent_pid;
  if (pid != header.pid) {  // parent_pid is a number of its namespace, too
    const auto stat = readProcessStat(pid);
    parent_pid = stat && stat->start_ticks == header.start_ticks ? stat->parent_pid : 0;
  }
  const size_t length = std::min<size_t>(header.command_line_bytes, sizeof header.command_line);
  const std::string_view arguments(header.command_line, length);
  const std::string_view executable(header.executable,
                                    strnlen(header.executable, sizeof header.executable));
  const std::string_view boot(header.boot_id, strnlen(header.boot_id, sizeof header.boot_id));
  noteProcess(process->key,
              {.pid = pid,
               .parent_pid = parent_pid,
               .pid_namespace = header.pid_namespace,
               .start_ticks = header.start_ticks,
               .start_ns = startTicksToMonotonicNs(header.start_ticks),
               .flags = process_flags::kAgent},
              quoteCommandLine(arguments, length == sizeof header.command_line), executable, boot,
              "agent");
  return *process;
}

void Collector::noteProcess(const ProcessRow& given, std::string_view command_line,
                            std::string_view executable, std::string_view boot_id,
                            std::string_view seen_by) {
  noteProcess({given.pid, given.start_ticks, 0}, given, command_line, executable, boot_id, seen_by);
}

void Collector::noteProcess(const ProcessKey& key, const ProcessRow& given,
                            std::string_view command_line, std::string_view executable,
                            std::string_view boot_id, std::string_view seen_by) {
  processId(key);
  ProcessRow& row = process_rows_[key];
  const ProcessRow before = row;
  StringTable& strings = shared_.delta.strings;
  auto keep = [](auto& field, auto value) {
    if (value != decltype(value){}) field = value;
  };
  keep(row.parent_pid, given.parent_pid);
  keep(row.pid_namespace, given.pid_namespace);
  if (row.start_ns == 0) row.start_ns = given.start_ns;
  keep(row.end_ns, given.end_ns);
  if (given.end_ns != 0) row.exit_code = given.exit_code;
  keep(row.command_line, strings.intern(command_line));
  keep(row.executable, strings.intern(executable));
  keep(row.boot_id, strings.intern(boot_id));
  row.flags |= given.flags;
  if (row.flags & process_flags::kAgent) row.flags &= ~process_flags::kUnobserved;
  if (row.end_ns != 0) row.flags &= ~process_flags::kStillRunning;
  keep(row.seen_by, strings.intern(seen_by));
  const bool changed = row.parent_pid != before.parent_pid || row.end_ns != before.end_ns ||
                       row.exit_code != before.exit_code || row.flags != before.flags ||
                       row.command_line != before.command_line ||
                       row.executable != before.executable || row.seen_by != before.seen_by;
  if (changed) shared_.delta.process.push(row);
  if (window_ && row.pid != root_pid_ && row.end_ns != 0 && before.end_ns == 0) {
    if (std::string why = crashOf(row); !why.empty()) window_->want(std::move(why));
  }
}

std::vector<std::pair<uint32_t, uint64_t>> Collector::agents() const {
  std::vector<std::pair<uint32_t, uint64_t>> out;
  for (const auto& [key, process] : processes_) {
    if (process->in_sight) out.emplace_back(std::get<0>(key), std::get<1>(key));
  }
  return out;
}

bool Collector::agentsAlive() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    return entry.second->alive && entry.second->in_sight;
  });
}

void Collector::checkLiveness() {
  const int64_t now = monotonicNs();
  if (now - last_liveness_ns_ < kLivenessIntervalNs) return;
  last_liveness_ns_ = now;
  for (auto& [key, process] : processes_) {
    if (!process->alive || !process->in_sight) continue;
    const auto& [pid, start_ticks, elsewhere] = key;
    const auto stat = readProcessStat(pid);
    // Field 22 (start time) detects a reused pid. A zombie writes no more, unless it has other
    // threads.
    process->alive = stat && stat->start_ticks == start_ticks && stat->runs();
  }
}

}  // namespace tracesmith
