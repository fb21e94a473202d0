// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/sampled_processes.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/system/process_tree.hpp"

namespace tracesmith {
namespace {

/// The start that /proc gives is stamped just before the kernel tells of the fork, in ticks.
constexpr uint64_t kTickSlack = 2;

/// `start_ns` 0: unknown.
SampledProcess describe(uint32_t pid, uint32_t parent_pid, int64_t start_ns) {
  SampledProcess out{.pid = pid, .parent_pid = parent_pid};
  if (start_ns != 0) out.start_ticks = monotonicNsToStartTicks(start_ns);
  const auto stat = readProcessStat(pid);
  if (!stat) return out;
  const uint64_t early = std::min(stat->start_ticks, out.start_ticks);
  const uint64_t late = std::max(stat->start_ticks, out.start_ticks);
  if (start_ns != 0 && late - early > kTickSlack) return out;  // another one has its pid by now
  out.start_ticks = stat->start_ticks;
  out.is_exact = true;
  if (out.parent_pid == 0) out.parent_pid = stat->parent_pid;
  return out;
}

}  // namespace

Status SampledProcesses::begin(pid_t pid) {
  const auto number = static_cast<uint32_t>(pid);
  const std::vector<uint32_t> threads = threadsOf(number);
  if (threads.empty()) return fail(ErrorCode::kNotFound, "the process has ended");
  Process& process = add(number, 0, 0, stacks::ProcessCode(pid, images_));
  process.threads = {threads.begin(), threads.end()};
  process.python_searches = kPythonSearches;
  return process.code.readMap();
}

SampledProcesses::Process& SampledProcesses::add(uint32_t pid, uint32_t parent_pid,
                                                 int64_t start_ns, stacks::ProcessCode code) {
  new_.push_back(describe(pid, parent_pid, start_ns));
  return processes_
      .insert_or_assign(pid, Process{.code = std::move(code),
                                     .number = numbers_++,
                                     .threads = {pid},
                                     .frames = {},
                                     .python = {}})
      .first->second;
}

SampledProcesses::Process& SampledProcesses::at(uint32_t pid) {
  const auto known = processes_.find(pid);
  if (known != processes_.end()) return known->second;
  // Its beginning is among the lost records.
  Process& process = add(pid, 0, 0, stacks::ProcessCode(static_cast<pid_t>(pid), images_));
  refresh(pid, process);
  return process;
}

void SampledProcesses::take(const PerfRecord& record) {
  if (const auto* const mapping = std::get_if<PerfMapping>(&record.what)) {
    Process& process = at(record.place.pid);
    process.code.add(mapping->mapping);
    process.frames.clear();
    if (stacks::mayHavePython(mapping->mapping.path)) process.python_searches = kPythonSearches;
  } else if (const auto* const fork = std::get_if<PerfFork>(&record.what)) {
    if (fork->pid == fork->parent_pid) {
      at(fork->pid).threads.insert(fork->tid);
      return;
    }
    const auto pid = static_cast<pid_t>(fork->pid);
    const Process& parent = at(fork->parent_pid);
    stacks::ProcessCode of_child = parent.code.copyFor(pid);
    auto python = parent.python ? std::optional(parent.python->copyFor(pid)) : std::nullopt;
    const uint32_t searches = parent.python_searches;
    Process& child = add(fork->pid, fork->parent_pid, record.place.time_ns, std::move(of_child));
    child.python = std::move(python);
    child.python_searches = searches;
  } else if (const auto* const name = std::get_if<PerfName>(&record.what)) {
    if (!name->is_exec) return;
    Process& process = at(name->pid);
    process.code.clear();  // its mappings come next
    process.frames.clear();
    process.python.reset();
    process.is_python_told = false;
    process.python_searches = 0;
    process.threads = {name->tid};
  } else if (const auto* const ended = std::get_if<PerfExit>(&record.what)) {
    const auto process = processes_.find(ended->pid);
    if (process == processes_.end()) return;
    process->second.threads.erase(ended->tid);
    if (process->second.threads.empty()) processes_.erase(process);
  } else if (const auto* const lost = std::get_if<PerfLost>(&record.what)) {
    has_lost_ = has_lost_ || !lost->only_samples;
  }
}

/// Reads what may have been missed. What has ended meanwhile stays as it was.
void SampledProcesses::refresh(uint32_t pid, Process& process) {
  const std::vector<uint32_t> threads = threadsOf(pid);
  if (threads.empty()) return;
  process.threads = {threads.begin(), threads.end()};
  if (!process.code.readMap()) return;
  process.frames.clear();
  process.python_searches = kPythonSearches;
}

void SampledProcesses::findPython(
    const std::function<void(uint32_t, const stacks::PythonProcess&)>& found) {
  for (auto& [pid, process] : processes_) {
    if (process.python) {
      process.python->doubt();
    } else if (process.python_searches > 0) {
      --process.python_searches;
      process.python = stacks::PythonProcess::find(static_cast<pid_t>(pid), process.code);
    }
    if (!process.python || std::exchange(process.is_python_told, true)) continue;
    found(pid, *process.python);
  }
}

void SampledProcesses::refreshAfterLoss(int64_t now_ns) {
  constexpr int64_t kBetweenNs = 200'000'000;
  if (!has_lost_ || now_ns - refreshed_ns_ < kBetweenNs) return;
  has_lost_ = false;
  refreshed_ns_ = now_ns;
  for (auto& [pid, process] : processes_) refresh(pid, process);
}

}  // namespace tracesmith
