// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/host_time/late_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/analysis/timing/runtime_frames.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/names/system_names.hpp"

namespace tracesmith {

namespace {

/// The C library and what the kernel maps: they do what somebody asked for.
bool isSystemModule(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path.starts_with("libc.so") || path.starts_with("libc-2.") ||
         path.starts_with("libpthread") || path.starts_with("ld-linux") || path == "[vdso]" ||
         isKernelModule(path) || path.empty();
}

}  // namespace

bool isKernelModule(std::string_view module) {
  return module.starts_with('[') && module.ends_with(']') && module != "[vdso]" &&
         module != "[vsyscall]";
}

std::string_view toString(HostCause cause) {
  constexpr std::array<std::string_view, kHostCauses> kNames = {
      "computing",
      "in the Python interpreter",
      "in a system call",
      "handling page faults",
      "in the kernel",
      "running (no sample)",
      "without a processor",
      "waiting",
      "stopped",
      "launching",
      "not recorded",
  };
  return kNames[static_cast<size_t>(cause)];
}

int64_t LateHost::ns(HostCause cause) const {
  int64_t sum = 0;
  for (const LateCause& each : causes) sum += each.cause == cause ? each.ns : 0;
  return sum;
}

SampledCode sampledCode(const Trace& trace, CallPathId path, CpuMode mode) {
  const std::vector<FrameId> frames = framesOf(trace, path);  // the outermost first
  const auto moduleOf = [&](FrameId frame) {
    return trace.text(trace.frame.module[indexOf(frame)]);
  };
  if (mode != CpuMode::kKernel) {
    if (frames.empty()) return {};
    const std::string_view module = moduleOf(frames.back());
    const bool is_python = module == kPythonModule || isInterpreterModule(module);
    return {.cause = is_python ? HostCause::kPython : HostCause::kComputing, .detail = {}};
  }
  // Frames of the kernel's own entry; the next one in is that of the call, by one of these names.
  constexpr std::array<std::string_view, 5> kEntries = {"do_syscall_64", "x64_sys_call", "el0_svc",
                                                        "do_el0_svc", "invoke_syscall"};
  constexpr std::array<std::string_view, 5> kCalls = {"__x64_sys_", "__arm64_sys_", "__do_sys_",
                                                      "ksys_", "do_"};
  constexpr std::array<std::string_view, 3> kFaults = {"asm_exc_page_fault", "exc_page_fault",
                                                       "do_page_fault"};
  bool in_call = false;
  for (const FrameId frame : frames) {
    if (!isKernelModule(moduleOf(frame))) continue;
    // Compilers append what they made of it: "invoke_syscall.constprop.0".
    std::string_view function = trace.text(trace.frame.function[indexOf(frame)]);
    function = function.substr(0, function.find('.'));
    if (function == "[unknown]") return {HostCause::kKernel, "names unknown"};
    if (std::find(kEntries.begin(), kEntries.end(), function) != kEntries.end() ||
        function == "el0_svc_common") {
      in_call = true;
      continue;
    }
    for (const std::string_view prefix : kCalls) {
      if (in_call && function.starts_with(prefix)) {
        return {HostCause::kSystemCall, std::string(function.substr(prefix.size()))};
      }
    }
    if (std::find(kFaults.begin(), kFaults.end(), function) != kFaults.end()) {
      return {HostCause::kPageFault, {}};
    }
    if (in_call) break;
  }
  return {in_call ? HostCause::kSystemCall : HostCause::kKernel, {}};
}

CallPathId userPath(const Trace& trace, CallPathId path) {
  const CallPathTable& paths = trace.call_path;
  while (path != CallPathId::kNone && indexOf(path) < paths.size()) {
    const FrameId frame = paths.frame[indexOf(path)];
    const CallPathId parent = paths.parent[indexOf(path)];
    const bool is_kernel = frame != FrameId::kNone && indexOf(frame) < trace.frame.size() &&
                           isKernelModule(trace.text(trace.frame.module[indexOf(frame)]));
    if (!is_kernel || parent >= path) break;
    path = parent;
  }
  return path;
}

std::map<std::string, int64_t> timeByFunction(const Trace& trace, const LateHost& late) {
  const FrameSymbols symbols(trace);
  std::vector<FrameFunction> functions;
  std::map<std::string, int64_t> out;
  for (const LateStack& stack : late.stacks) {
    const std::vector<FrameId> frames = framesOf(trace, stack.path);
    if (frames.empty()) continue;
    const auto moduleOf = [&](FrameId frame) {
      return trace.text(trace.frame.module[indexOf(frame)]);
    };
    // If the interpreter runs a Python function, that one counts.
    const bool has_python = std::any_of(frames.begin(), frames.end(), [&](FrameId frame) {
      return moduleOf(frame) == kPythonModule;
    });
    const auto isOwn = [&](FrameId frame) {
      const std::string_view module = moduleOf(frame);
      return !isSystemModule(module) && !(has_python && isInterpreterModule(module));
    };
    auto own = std::find_if(frames.rbegin(), frames.rend(), isOwn);
    if (own == frames.rend()) own = frames.rbegin();
    symbols.functions(*own, functions);
    if (!functions.empty()) out[symbols.label(*own, functions.front())] += stack.ns;
  }
  return out;
}

/// Time and samples by cause and by stack.
class HostActivity::Sums {
 public:
  explicit Sums(const Trace& trace)
      : trace_(trace), sees_kernel_(trace.metadataValue("system_rights") != "user") {}

  void add(HostCause cause, std::string_view detail, CallPathId path, int64_t ns) {
    if (ns <= 0) return;
    by_cause_[{cause, std::string(detail)}].ns += ns;
    if (path != CallPathId::kNone) {
      by_stack_[{cause, std::string(detail), userPath(trace_, path)}].ns += ns;
    }
  }
  void addRunning(int64_t ns) { running_ns_ += ns; }
  void addSample(CallPathId path, CpuMode mode, uint32_t weight_ns) {
    ++samples_[{path, mode}];
    ++sample_count_;
    sampled_ns_ += weight_ns;
  }

  LateHost finish(int64_t total_ns) {
    divideRunning();
    LateHost out;
    out.total_ns = total_ns;
    for (const auto& [key, sum] : by_cause_) {
      out.causes.push_back({key.first, key.second, sum.ns, sum.samples});
    }
    for (const auto& [key, sum] : by_stack_) {
      const auto& [cause, detail, path] = key;
      out.stacks.push_back({cause, detail, path, sum.ns, sum.samples});
    }
    const auto longest = [](const auto& a, const auto& b) { return a.ns > b.ns; };
    std::stable_sort(out.causes.begin(), out.causes.end(), longest);
    std::stable_sort(out.stacks.begin(), out.stacks.end(), longest);
    return out;
  }

 private:
  struct Sum {
    int64_t ns = 0;
    uint64_t samples = 0;
  };
  /// To each stack its share; to the ns all of it.
  void divideRunning() {
    if (sample_count_ == 0) return add(HostCause::kRunning, {}, {}, running_ns_);
    if (!sees_kernel_ && sampled_ns_ < running_ns_) {
      by_cause_[{HostCause::kKernel, "no rights to see what"}].ns += running_ns_ - sampled_ns_;
      running_ns_ = sampled_ns_;
    }
    uint64_t samples = 0;
    int64_t given = 0;
    for (const auto& [place, count] : samples_) {
      samples += count;
      const auto until = static_cast<int64_t>(static_cast<__int128>(running_ns_) * samples /
                                              static_cast<__int128>(sample_count_));
      const SampledCode code = sampledCode(trace_, place.first, place.second);
      const CallPathId path = userPath(trace_, place.first);
      for (Sum* const sum :
           {&by_cause_[{code.cause, code.detail}], &by_stack_[{code.cause, code.detail, path}]}) {
        sum->ns += until - given;
        sum->samples += count;
      }
      given = until;
    }
  }

  const Trace& trace_;
  std::map<std::pair<HostCause, std::string>, Sum> by_cause_;
  std::map<std::tuple<HostCause, std::string, CallPathId>, Sum> by_stack_;
  std::map<std::pair<CallPathId, CpuMode>, uint64_t> samples_;
  const bool sees_kernel_;
  uint64_t sample_count_ = 0;
  int64_t sampled_ns_ = 0;
  int64_t running_ns_ = 0;
};

HostActivity::HostActivity(const Trace& trace) : trace_(trace) {
  const CpuSampleTable& samples = trace.cpu_sample;
  for (uint32_t i = 0; i < samples.size(); ++i) threads_[samples.thread_id[i]].samples.push_back(i);
  const ThreadStateTable& states = trace.thread_state;
  for (uint32_t i = 0; i < states.size(); ++i) threads_[states.thread_id[i]].states.push_back(i);
  const SystemCallTable& calls = trace.system_call;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    const auto thread = threads_.find(calls.thread_id[i]);
    if (thread != threads_.end()) thread->second.calls.push_back(i);
  }
  findLimits();
  for (auto& [id, thread] : threads_) {
    std::sort(thread.calls.begin(), thread.calls.end(),
              [&](uint32_t a, uint32_t b) { return calls.start_ns[a] < calls.start_ns[b]; });
    std::sort(thread.samples.begin(), thread.samples.end(),
              [&](uint32_t a, uint32_t b) { return samples.time_ns[a] < samples.time_ns[b]; });
    std::sort(thread.states.begin(), thread.states.end(),
              [&](uint32_t a, uint32_t b) { return states.start_ns[a] < states.start_ns[b]; });
  }
}

/// The system call in which a thread waited: "futex, held by loader", "read of /data/batch".
std::string HostActivity::waitedIn(const Thread& thread, int64_t time_ns) const {
  const SystemCallTable& calls = trace_.system_call;
  const auto after =
      std::partition_point(thread.calls.begin(), thread.calls.end(),
                           [&](uint32_t row) { return calls.start_ns[row] <= time_ns; });
  if (after == thread.calls.begin()) return {};
  const uint32_t row = *std::prev(after);
  if (endOf(calls.start_ns[row], calls.duration_ns[row]) < time_ns) return {};
  std::string out(trace_.text(calls.name[row]));
  const ThreadId owner = calls.owner_thread_id[row];
  if (owner != ThreadId::kNone && indexOf(owner) < trace_.thread.size()) {
    out += fmt::format(", held by {} ({})", trace_.text(trace_.thread.name[indexOf(owner)]),
                       trace_.thread.tid[indexOf(owner)]);
  }
  const std::string_view subject = trace_.text(calls.subject[row]);
  if (!subject.empty()) out += fmt::format(" of {}", subject);
  return out;
}

/// Times in which a cgroup was held back, as the counters of --system tell: of the one for which it
/// was longest, since its parents' and children's counters tell of the same.
void HostActivity::findLimits() {
  if (!trace_.rank.empty()) return;  // of which host a counter is, is not known
  const CounterTrackTable& tracks = trace_.counter_track;
  const CounterTable& counters = trace_.counter;
  CounterTrackId track{};
  double most_ns = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    const CounterTrackId id = counters.track_id[i];
    if (id == CounterTrackId::kNone || indexOf(id) >= tracks.size()) continue;
    const std::string_view name = trace_.text(tracks.name[indexOf(id)]);
    if (!name.starts_with(kCgroup) || !name.ends_with(kHeldBack)) continue;
    if (counters.value[i] <= most_ns) continue;
    most_ns = counters.value[i];
    track = id;
  }
  if (track == CounterTrackId::kNone) return;
  limited_by_ = trace_.text(tracks.name[indexOf(track)]);
  limited_by_.remove_suffix(kHeldBack.size());
  Limit limit;
  double before = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    if (counters.track_id[i] != track) continue;
    // The value grew at some time since the one before.
    limit.begin_ns = limit.end_ns;
    limit.end_ns = counters.time_ns[i];
    limit.held_back_ns = static_cast<int64_t>(counters.value[i] - before);
    before = counters.value[i];
    if (limit.begin_ns != 0 && limit.held_back_ns > 0) limits_.push_back(limit);
  }
  std::sort(limits_.begin(), limits_.end(),
            [](const Limit& one, const Limit& other) { return one.begin_ns < other.begin_ns; });
  const ThreadStateTable& states = trace_.thread_state;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states.state[i] != RunState::kRunnable) continue;
    const int64_t end_ns = endOf(states.start_ns[i], states.duration_ns[i]);
    for (size_t at = firstLimit(states.start_ns[i]);
         at < limits_.size() && limits_[at].begin_ns < end_ns; ++at) {
      limits_[at].runnable_ns += overlap(limits_[at], states.start_ns[i], end_ns);
    }
  }
}

/// The place of the first one that ends after this time.
size_t HostActivity::firstLimit(int64_t time_ns) const {
  const auto first = std::partition_point(
      limits_.begin(), limits_.end(), [&](const Limit& limit) { return limit.end_ns <= time_ns; });
  return static_cast<size_t>(first - limits_.begin());
}

int64_t HostActivity::overlap(const Limit& limit, int64_t begin_ns, int64_t end_ns) {
  return std::max<int64_t>(std::min(limit.end_ns, end_ns) - std::max(limit.begin_ns, begin_ns), 0);
}

/// How much of this time, in which a thread had no processor, is attributed to the limit: an
/// estimate. The kernel tells for how long the cgroup was held back in each tenth of a second. All
/// time that threads spent without a processor in it gets an equal share.
int64_t HostActivity::limitedNs(int64_t begin_ns, int64_t end_ns) const {
  int64_t out = 0;
  for (size_t at = firstLimit(begin_ns); at < limits_.size() && limits_[at].begin_ns < end_ns;
       ++at) {
    const Limit& limit = limits_[at];
    const int64_t both = overlap(limit, begin_ns, end_ns);
    const double share = static_cast<double>(limit.held_back_ns) /
                         static_cast<double>(std::max<int64_t>(limit.runnable_ns, 1));
    out += static_cast<int64_t>(static_cast<double>(both) * std::min(share, 1.0));
  }
  return std::min(out, end_ns - begin_ns);
}

void HostActivity::addStates(const Thread& thread, int64_t begin_ns, int64_t end_ns,
                             Sums& sums) const {
  const ThreadStateTable& states = trace_.thread_state;
  // States of a thread do not overlap, so they are also in the order of their ends.
  auto at = std::partition_point(thread.states.begin(), thread.states.end(), [&](uint32_t row) {
    return endOf(states.start_ns[row], states.duration_ns[row]) <= begin_ns;
  });
  int64_t known_to = begin_ns;
  for (; at != thread.states.end() && states.start_ns[*at] < end_ns; ++at) {
    const int64_t from = std::max(states.start_ns[*at], known_to);
    const int64_t to = std::min(endOf(states.start_ns[*at], states.duration_ns[*at]), end_ns);
    if (to <= from) continue;
    sums.add(HostCause::kUnknown, {}, {}, from - known_to);
    known_to = to;
    switch (states.state[*at]) {
      case RunState::kRunning:
        sums.addRunning(to - from);
        break;
      case RunState::kRunnable: {
        const int64_t limited = limitedNs(from, to);
        sums.add(HostCause::kRunnable, fmt::format("limit of {}", limited_by_), {}, limited);
        sums.add(HostCause::kRunnable, trace_.text(states.instead[*at]), {}, to - from - limited);
        break;
      }
      case RunState::kStopped:
        sums.add(HostCause::kStopped, {}, {}, to - from);
        break;
      case RunState::kUnknown:
        sums.add(HostCause::kUnknown, {}, {}, to - from);
        break;
      default:
        sums.add(HostCause::kWaiting, waitedIn(thread, states.start_ns[*at]),
                 states.call_path_id[*at], to - from);
    }
  }
  sums.add(HostCause::kUnknown, {}, {}, end_ns - known_to);
}

void HostActivity::addSamples(const Thread& thread, int64_t begin_ns, int64_t end_ns,
                              Sums& sums) const {
  const CpuSampleTable& samples = trace_.cpu_sample;
  auto at = std::partition_point(thread.samples.begin(), thread.samples.end(),
                                 [&](uint32_t row) { return samples.time_ns[row] < begin_ns; });
  for (; at != thread.samples.end() && samples.time_ns[*at] < end_ns; ++at) {
    sums.addSample(samples.call_path_id[*at], samples.mode[*at], samples.weight_ns[*at]);
  }
}

LateHost HostActivity::explain(const std::vector<LateGap>& gaps) const {
  Sums sums(trace_);
  int64_t total = 0;
  for (const LateGap& gap : gaps) {
    const int64_t length = gap.end_ns - gap.begin_ns;
    if (length <= 0) continue;
    total += length;
    const int64_t launch = std::clamp(gap.launch_ns, gap.begin_ns, gap.end_ns);
    sums.add(HostCause::kLaunching, {}, {}, gap.end_ns - launch);
    const auto thread = threads_.find(gap.thread);
    if (thread == threads_.end()) {
      sums.add(HostCause::kUnknown, {}, {}, launch - gap.begin_ns);
      continue;
    }
    addStates(thread->second, gap.begin_ns, launch, sums);
    addSamples(thread->second, gap.begin_ns, launch, sums);
  }
  return sums.finish(total);
}

}  // namespace tracesmith
