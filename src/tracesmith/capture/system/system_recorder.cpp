// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/system_recorder.hpp"

#include <time.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"
#include "tracesmith/capture/system/system_call_names.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kLongestPauseNs = 20'000'000, kShortestPauseNs = 1'000'000;
/// A stack, registers and what else a sample has.
constexpr int64_t kSampleBytes = 17 << 10;

/// Until a quarter of a ring is full of samples.
int64_t pauseFor(size_t ring_bytes, uint32_t samples_per_second) {
  const int64_t per_second = kSampleBytes * std::max<int64_t>(samples_per_second, 1);
  const auto quarter = static_cast<int64_t>(ring_bytes / 4);
  return std::clamp(quarter * 1'000'000'000 / per_second, kShortestPauseNs, kLongestPauseNs);
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
  from.clear();
}

/// nullptr: it cannot be started, and `why_not` says why.
std::unique_ptr<KernelTracer> startTracer(const SystemOptions& options, std::string& why_not) {
  if (!options.in_kernel) return nullptr;
  auto started = KernelTracer::start();
  if (started) return std::move(*started);
  why_not = started.error().toString();
  return nullptr;
}

RunState stateOf(char in_proc) {
  switch (in_proc) {
    case 'S':
      return RunState::kSleeping;
    case 'D':
      return RunState::kDiskWait;
    case 'T':
    case 't':
      return RunState::kStopped;
    default:
      return RunState::kUnknown;
  }
}

}  // namespace

SystemRecorder::SystemRecorder(PerfEvents events, std::unique_ptr<KernelTracer> tracer,
                               std::string why_no_calls, const SystemOptions& options)
    : options_(options),
      events_(std::move(events)),
      tracer_(std::move(tracer)),
      why_no_calls_(std::move(why_no_calls)),
      stacks_(paths_, options.most_frames),
      states_([this](StateSpan&& span) { kernel_events_.takeState(std::move(span)); }),
      kernel_events_(processes_, stacks_, states_, now_),
      counters_(tracks_, events_.counters()) {
  states_.onMigration([this](uint32_t process, uint32_t tid, int64_t time_ns) {
    counters_.takeMigration(process, tid, time_ns);
  });
  new_.sample_ns = options.samples_per_second > 0 ? 1'000'000'000 / options.samples_per_second : 0;
}

Result<std::unique_ptr<SystemRecorder>> SystemRecorder::start(pid_t pid,
                                                              const SystemOptions& options) {
  std::string why_no_calls;
  std::unique_ptr<KernelTracer> tracer = startTracer(options, why_no_calls);
  if (tracer != nullptr) TS_CHECK_OK(tracer->followFromExec(pid));
  TS_TRY(PerfEvents events,
         PerfEvents::forProgram(pid, {.samples_per_second = options.samples_per_second,
                                      .has_switches = tracer == nullptr}));
  std::unique_ptr<SystemRecorder> out(
      new SystemRecorder(std::move(events), std::move(tracer), std::move(why_no_calls), options));
  TS_CHECK_OK(out->processes_.begin(pid));
  out->prepare();
  TS_CHECK_OK(out->begin());
  return out;
}

Result<std::unique_ptr<SystemRecorder>> SystemRecorder::attach(uint32_t pid,
                                                               const SystemOptions& options) {
  std::string why_no_calls;
  std::unique_ptr<KernelTracer> tracer = startTracer(options, why_no_calls);
  const std::vector<uint32_t> processes = processTreeOf(pid);
  if (processes.empty()) return fail(ErrorCode::kNotFound, "there is no such process");
  const std::vector<RunningThread> before = runningThreadsOf(processes);
  const int64_t before_ns = monotonicNs();
  TS_TRY(PerfEvents events,
         PerfEvents::forRunning(processes, {.samples_per_second = options.samples_per_second,
                                            .has_switches = tracer == nullptr}));
  std::unique_ptr<SystemRecorder> out(
      new SystemRecorder(std::move(events), std::move(tracer), std::move(why_no_calls), options));
  out->prepare();
  // Twice, for what they have started before they were followed.
  for (int i = 0; i < 2 && out->tracer_ != nullptr; ++i) {
    TS_CHECK_OK(out->tracer_->follow(processTreeOf(pid)));
  }
  TS_CHECK_OK(out->events_.enable());
  TS_CHECK_OK(out->beginRunning(processTreeOf(pid), before, before_ns));
  TS_CHECK_OK(out->begin());
  return out;
}

/// What threads do that have not had a processor since `before` is known.
Status SystemRecorder::beginRunning(const std::vector<uint32_t>& processes,
                                    const std::vector<RunningThread>& before, int64_t before_ns) {
  bool any = false;
  for (const uint32_t pid : processes) {
    any = processes_.begin(static_cast<pid_t>(pid)).has_value() || any;
  }
  if (!any) return fail(ErrorCode::kNotFound, "the process has ended");
  std::map<uint32_t, const RunningThread*> known;
  for (const RunningThread& thread : before) known[thread.tid] = &thread;
  for (const RunningThread& thread : runningThreadsOf(processes)) {
    const SampledProcesses::Process* const process = processes_.find(thread.pid);
    if (process == nullptr) continue;
    kernel_events_.nameThread(thread.tid, thread.name);
    now_.names.push_back({process->number, thread.tid, thread.name});
    const auto same = known.find(thread.tid);
    if (same == known.end() || same->second->switches != thread.switches) continue;
    states_.begin(process->number, thread.tid, thread.cpu, stateOf(thread.state), before_ns);
  }
  return {};
}

/// What takes some time, before anything is recorded.
void SystemRecorder::prepare() {
  if (hasKernelStacks()) paths_.readKernelSymbols();
  followPython();
}

Status SystemRecorder::begin() {
  TS_TRY(thread_, startSignalFreeThread([this] { run(); }));
  return {};
}

SystemRecorder::~SystemRecorder() { finish(); }

void SystemRecorder::finish() {
  if (!thread_.joinable()) return;
  stop_.store(true);
  thread_.join();
}

SystemEvents SystemRecorder::takeNew() {
  const std::lock_guard lock(mutex_);
  SystemEvents out = std::move(new_);
  new_ = {};
  new_.sample_ns = out.sample_ns;
  new_.lost = out.lost;
  new_.python_stacks = out.python_stacks;
  new_.python_lost = out.python_lost;
  return out;
}

void SystemRecorder::run() {
  const timespec pause{0, pauseFor(events_.ringBytes(), options_.samples_per_second)};
  while (!stop_.load()) {
    drain(false);
    nanosleep(&pause, nullptr);
  }
  drain(true);
}

/// The tracer's records so far. A record that comes later than those of other processors is put in
/// its place.
void SystemRecorder::readTracer() {
  if (tracer_ == nullptr) return;
  tracer_->drain([this](std::span<const uint8_t> bytes) {
    const int64_t time_ns = KernelEvents::timeOf(bytes);
    auto at = traced_.end();
    while (at != traced_.begin() && std::prev(at)->time_ns > time_ns) --at;
    traced_.insert(at, {time_ns, {bytes.begin(), bytes.end()}});
  });
  const uint64_t lost = tracer_->lost();
  if (lost != traced_lost_) states_.forget(drained_ns_);  // a switch may be among them
  traced_lost_ = lost;
}

/// From now on, samples have Python frames, if the kernel can read them.
void SystemRecorder::followPython() {
  if (tracer_ == nullptr) {
    why_no_python_ = why_no_calls_;
  } else if (auto read = tracer_->readPythonAt(events_); !read) {
    why_no_python_ = read.error().toString();
  }
}

void SystemRecorder::takeTraced(int64_t until_ns) {
  while (!traced_.empty() && traced_.front().time_ns <= until_ns) {
    kernel_events_.take(traced_.front().bytes);
    traced_.pop_front();
  }
}

void SystemRecorder::drain(bool all) {
  // Records of the last moment may still be written, one after the other.
  constexpr int64_t kMomentNs = 100'000;
  const int64_t until_ns = all ? INT64_MAX : monotonicNs() - kMomentNs;
  readTracer();
  drained_ns_ = until_ns;
  events_.drain(until_ns, [this](const PerfRecord& record) {
    takeTraced(record.place.time_ns);
    take(record);
  });
  takeTraced(until_ns);
  processes_.refreshAfterLoss(monotonicNs());
  if (tracer_ != nullptr && why_no_python_.empty()) {
    processes_.findPython([this](uint32_t pid, const stacks::PythonProcess& python) {
      tracer_->readPythonOf(static_cast<pid_t>(pid), python);
    });
  }
  pressure_.poll(monotonicNs(), processes_);
  if (all) finishAll();
  now_.processes = processes_.takeNew();
  now_.frames = paths_.takeFrames();
  now_.paths = paths_.takePaths();
  const std::lock_guard lock(mutex_);
  append(new_.processes, std::move(now_.processes));
  append(new_.frames, std::move(now_.frames));
  append(new_.paths, std::move(now_.paths));
  append(new_.names, std::move(now_.names));
  append(new_.samples, std::move(now_.samples));
  append(new_.states, std::move(now_.states));
  append(new_.wakeups, std::move(now_.wakeups));
  append(new_.calls, std::move(now_.calls));
  append(new_.counts, std::move(now_.counts));
  append(new_.tracks, std::move(now_.tracks));
  append(new_.counters, std::move(now_.counters));
  append(new_.signals, std::move(now_.signals));
  append(new_.oom_kills, std::move(now_.oom_kills));
  new_.lost = events_.lost() + traced_lost_;
  new_.python_stacks = stacks_.merged();
  new_.python_lost = stacks_.unreadable() + (tracer_ == nullptr ? 0 : tracer_->lostPython());
}

/// What goes on ends with the recording.
void SystemRecorder::finishAll() {
  processes_.forEach([this](uint32_t pid, const SampledProcesses::Process& process) {
    countCalls(pid, process.number);
  });
  states_.finish(monotonicNs());
  kernel_events_.finish();
  counters_.finish();
}

void SystemRecorder::countCalls(uint32_t pid, uint32_t process) {
  if (tracer_ == nullptr) return;
  for (const SystemCallCount& count : tracer_->takeCallsOf(static_cast<pid_t>(pid))) {
    now_.counts.push_back({.process = process,
                           .name = systemCallName(count.number),
                           .calls = count.calls,
                           .total_ns = count.total_ns});
  }
}

void SystemRecorder::take(const PerfRecord& record) {
  const PerfPlace& place = record.place;
  if (const auto* const ended = std::get_if<PerfExit>(&record.what))
    takeExit(*ended, place.time_ns);
  processes_.take(record);
  if (const auto* const sample = std::get_if<PerfSample>(&record.what)) {
    takeSample(place, *sample);
  } else if (const auto* const change = std::get_if<PerfSwitch>(&record.what)) {
    const uint32_t process = processes_.at(place.pid).number;
    if (change->is_out) {
      states_.leave(process, place.tid, place.cpu,
                    change->is_preempted ? RunState::kRunnable : RunState::kWaiting, place.time_ns);
    } else {
      states_.enter(process, place.tid, place.cpu, place.time_ns);
    }
  } else if (const auto* const fork = std::get_if<PerfFork>(&record.what)) {
    const uint32_t process = processes_.at(fork->pid).number;
    states_.begin(process, fork->tid, place.cpu, RunState::kRunnable, place.time_ns);
    // A thread has the name of the one that made it, until it gets another one.
    std::string name(kernel_events_.nameOf(fork->parent_tid));
    kernel_events_.nameThread(fork->tid, name);
    now_.names.push_back({process, fork->tid, std::move(name)});
  } else if (const auto* const name = std::get_if<PerfName>(&record.what)) {
    const uint32_t process = processes_.at(name->pid).number;
    // With this the recording of the first process begins.
    if (name->is_exec) {
      states_.endOthers(process, name->tid, place.time_ns);  // they end with the program before
      states_.enter(process, name->tid, place.cpu, place.time_ns);
    }
    kernel_events_.nameThread(name->tid, name->name);
    now_.names.push_back({process, name->tid, std::string(name->name)});
  } else if (const auto* const lost = std::get_if<PerfLost>(&record.what)) {
    // The records of a processor until now are known up to the last one that it has written.
    if (!lost->only_samples && tracer_ == nullptr) states_.forget(last_ns_[place.cpu]);
  }
  last_ns_[place.cpu] = place.time_ns;
}

void SystemRecorder::takeExit(const PerfExit& ended, int64_t time_ns) {
  const SampledProcesses::Process* const process = processes_.find(ended.pid);
  if (process == nullptr) return;
  states_.end(process->number, ended.tid, time_ns);
  kernel_events_.endThread(process->number, ended.tid);
  stacks_.endThread(ended.tid);
  counters_.endThread(process->number, ended.tid);
  if (process->threads.size() > 1 || !process->threads.contains(ended.tid)) return;
  states_.endProcess(process->number, time_ns);
  countCalls(ended.pid, process->number);
}

void SystemRecorder::takeSample(const PerfPlace& place, const PerfSample& sample) {
  SampledProcesses::Process& process = processes_.at(place.pid);
  counters_.take(process.number, place, sample);
  const stacks::CopiedStack stack{sample.registers, sample.stack};
  const bool has_stack = sample.has_user_registers || !sample.kernel.empty();
  now_.samples.push_back(
      {.time_ns = place.time_ns,
       .process = process.number,
       .tid = place.tid,
       .cpu = place.cpu,
       .path = has_stack ? stacks_.pathOf({.stack = sample.has_user_registers ? &stack : nullptr,
                                           .kernel = sample.kernel,
                                           .tid = place.tid,
                                           .time_ns = place.time_ns},
                                          process)
                         : 0,
       .mode = sample.is_in_kernel ? CpuMode::kKernel : CpuMode::kUser});
}

}  // namespace tracesmith
