// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/simulate/step_durations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "tracesmith/analysis/timing/launch_index.hpp"

namespace tracesmith {

using namespace recording;

namespace {

constexpr uint32_t kNone = ~uint32_t{0};

/// True if such a command calls `function`; several functions share a prefix
/// ("clEnqueueWriteBufferRect").
bool isCallOf(CommandKind kind, std::string_view function) {
  const auto is = [&](std::string_view begin) { return function.starts_with(begin); };
  switch (kind) {
    case CommandKind::kLaunch:
      return function == "clEnqueueNDRangeKernel" || function == "clEnqueueTask";
    case CommandKind::kWrite:
      return is("clEnqueueWrite");
    case CommandKind::kRead:
      return is("clEnqueueRead");
    case CommandKind::kCopy:
      return is("clEnqueueCopy");
    case CommandKind::kFill:
      return is("clEnqueueFill");
    case CommandKind::kMap:
      return is("clEnqueueMap");
    case CommandKind::kUnmap:
      return function == "clEnqueueUnmapMemObject";
    case CommandKind::kMigrate:
      return function == "clEnqueueMigrateMemObjects" || is("clEnqueueSVMMigrateMem");
    case CommandKind::kSvmCopy:
      return is("clEnqueueSVMMemcpy");
    case CommandKind::kSvmFill:
      return is("clEnqueueSVMMemFill");
    case CommandKind::kSvmMap:
      return is("clEnqueueSVMMap");
    case CommandKind::kSvmUnmap:
      return is("clEnqueueSVMUnmap");
    default:
      return false;
  }
}

/// Commands of one thread, in thread order.
struct ThreadCommands {
  std::vector<StepIndex> steps;
  /// The command whose call contains `when`; kNoStep: none.
  StepIndex at(const ReplayPlan& plan, int64_t when) const {
    auto it = std::upper_bound(steps.begin(), steps.end(), when, [&](int64_t t, StepIndex step) {
      return t < plan.step(step).header.start_ns;
    });
    if (it == steps.begin()) return kNoStep;
    const ReplayStep& step = plan.step(*--it);
    // A call recorded when it started has its end in its Done.
    int64_t end = step.header.end_ns;
    if (step.done != kNoStep) end = std::max(end, plan.step(step.done).header.end_ns);
    return when <= end ? *it : kNoStep;
  }
};

class Matcher {
 public:
  Matcher(const ReplayPlan& plan, const Trace& trace)
      : plan_(plan), trace_(trace), step_of_call_(trace.host_call.size(), kNoStep) {
    out_.ns.assign(plan.steps().size(), StepDurations::kUnknown);
  }

  StepDurations of(const Process& process) {
    if (!findProcess(process)) {
      out_.why_none = fmt::format(
          "the trace is of another run: it has no process {} with the recorded start time",
          process.pid);
      return std::move(out_);
    }
    commandsOfThreads();
    matchCalls();
    takeDurations();
    if (out_.of_commands == 0) {
      out_.why_none = "the trace has no device work of the recorded commands";
    }
    return std::move(out_);
  }

 private:
  bool findProcess(const Process& process) {
    is_it_.assign(trace_.process.size() + 1, false);
    bool found = false;
    for (size_t i = 0; i < trace_.process.size(); ++i) {
      const uint64_t ticks = trace_.process.start_ticks[i];
      // Pids are reused; the start time distinguishes processes.
      const bool other = ticks != 0 && process.start_ticks != 0 && ticks != process.start_ticks;
      if (trace_.process.pid[i] != process.pid || other) continue;
      const auto id = static_cast<size_t>(trace_.process.id[i]);
      if (id < is_it_.size()) is_it_[id] = found = true;
    }
    return found;
  }
  bool isIt(ProcessId id) const {
    const auto i = static_cast<size_t>(id);
    return i < is_it_.size() && is_it_[i];
  }

  void commandsOfThreads() {
    for (StepIndex i = 0; i < plan_.steps().size(); ++i) {
      const CommandHeader& header = plan_.step(i).header;
      if (takesDeviceTime(header.kind)) threads_[header.thread].steps.push_back(i);
    }
    for (auto& [tid, commands] : threads_) {
      std::stable_sort(commands.steps.begin(), commands.steps.end(), [&](StepIndex a, StepIndex b) {
        return plan_.step(a).header.start_ns < plan_.step(b).header.start_ns;
      });
    }
  }

  void matchCalls() {
    const HostCallTable& calls = trace_.host_call;
    std::vector<uint32_t> call_of(plan_.steps().size(), kNone);
    for (uint32_t c = 0; c < calls.size(); ++c) {
      const auto thread = static_cast<size_t>(calls.thread_id[c]);
      if (!isIt(calls.process_id[c]) || thread == 0 || thread > trace_.thread.size()) continue;
      const auto commands = threads_.find(trace_.thread.tid[thread - 1]);
      if (commands == threads_.end()) continue;
      const int64_t middle =
          endOf(calls.start_ns[c], std::max<int64_t>(calls.duration_ns[c], 0) / 2);
      const StepIndex step = commands->second.at(plan_, middle);
      if (step == kNoStep) continue;
      const CommandHeader& header = plan_.step(step).header;
      // Calls by the recorder itself within a call are of other functions.
      if (!isCallOf(header.kind, trace_.text(calls.name[c]))) continue;
      if (call_of[step] != kNone || (calls.result[c] != 0) != (header.result != 0)) {
        ++out_.contradicted;
        if (call_of[step] != kNone) step_of_call_[call_of[step]] = kNoStep;
        call_of[step] = c;
        continue;
      }
      call_of[step] = c;
      step_of_call_[c] = step;
    }
  }

  void takeDurations() {
    const LaunchIndex launches(trace_);
    std::vector<bool> has_work(plan_.steps().size());
    forEachTable(trace_, [&](const auto& table) {
      using Table = std::decay_t<decltype(table)>;
      if constexpr (std::is_same_v<Table, KernelTable> || std::is_same_v<Table, CopyTable> ||
                    std::is_same_v<Table, FillTable> || std::is_same_v<Table, SyncTable>) {
        const std::vector<uint32_t> launched_by = launches.launchesOf(table);
        for (size_t i = 0; i < table.size(); ++i) {
          if ((table.flags[i] & op_flags::kHostSide) != 0 || !isIt(table.process_id[i])) continue;
          ++out_.device_work;
          const uint32_t call = launched_by[i];
          const StepIndex step = call == LaunchIndex::kNone ? kNoStep : step_of_call_[call];
          if (step == kNoStep) continue;
          ++out_.of_commands;
          constexpr uint32_t kNoTime = op_flags::kDeviceClock | op_flags::kNoDeviceTime;
          if ((table.flags[i] & kNoTime) != 0 || table.duration_ns[i] < 0) continue;
          bool same = true;
          if constexpr (std::is_same_v<Table, KernelTable>) {
            same = plan_.step(step).kind() == CommandKind::kLaunch &&
                   trace_.text(table.name[i]) == plan_.kernelName(plan_.step(step));
          }
          // One OpenCL call is one command.
          if (!same || has_work[step]) {
            ++out_.contradicted;
            out_.ns[step] = StepDurations::kUnknown;
          } else {
            out_.ns[step] = table.duration_ns[i];
          }
          has_work[step] = true;
        }
      }
    });
  }

  const ReplayPlan& plan_;
  const Trace& trace_;
  StepDurations out_;
  std::vector<bool> is_it_;  // by ProcessId
  std::unordered_map<uint32_t, ThreadCommands> threads_;
  std::vector<StepIndex> step_of_call_;
};

}  // namespace

bool takesDeviceTime(CommandKind kind) {
  switch (kind) {
    case CommandKind::kLaunch:
    case CommandKind::kWrite:
    case CommandKind::kRead:
    case CommandKind::kCopy:
    case CommandKind::kFill:
    case CommandKind::kMap:
    case CommandKind::kUnmap:
    case CommandKind::kMigrate:
    case CommandKind::kSvmCopy:
    case CommandKind::kSvmFill:
    case CommandKind::kSvmMap:
    case CommandKind::kSvmUnmap:
      return true;
    default:
      return false;
  }
}

StepDurations StepDurations::of(const ReplayPlan& plan, const Process& process,
                                const Trace& trace) {
  return Matcher(plan, trace).of(process);
}

StepDurations StepDurations::none(const ReplayPlan& plan, std::string why) {
  StepDurations out;
  out.ns.assign(plan.steps().size(), kUnknown);
  out.why_none = std::move(why);
  return out;
}

}  // namespace tracesmith
