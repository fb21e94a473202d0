// SPDX-License-Identifier: Apache-2.0
// Records what a program does on the processors, on a thread of its own: samples with their stacks,
// when threads ran and waited, and, with rights, what for.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/system/counter_tracks.hpp"
#include "tracesmith/capture/system/kernel_events.hpp"
#include "tracesmith/capture/system/kernel_tracer.hpp"
#include "tracesmith/capture/system/perf_events.hpp"
#include "tracesmith/capture/system/process_tree.hpp"
#include "tracesmith/capture/system/sampled_paths.hpp"
#include "tracesmith/capture/system/sampled_processes.hpp"
#include "tracesmith/capture/system/system_events.hpp"
#include "tracesmith/capture/system/system_options.hpp"
#include "tracesmith/capture/system/system_pressure.hpp"
#include "tracesmith/capture/system/thread_states.hpp"

namespace tracesmith {

class SystemRecorder {
 public:
  /// Of a process that has not executed its program yet, and all that it starts. Errors: those of
  /// PerfEvents::forProgram().
  static Result<std::unique_ptr<SystemRecorder>> start(pid_t pid, const SystemOptions& options);
  /// As start(), for a process that runs already, its threads and its descendants, from now on.
  static Result<std::unique_ptr<SystemRecorder>> attach(uint32_t pid, const SystemOptions& options);
  ~SystemRecorder();
  SystemRecorder(const SystemRecorder&) = delete;
  SystemRecorder& operator=(const SystemRecorder&) = delete;

  /// What came since the last call.
  SystemEvents takeNew();
  /// Reads the rest, and ends. After that takeNew() gives it.
  void finish();
  bool hasKernelStacks() const { return events_.hasKernelStacks(); }
  /// Why wakeups and system calls are not recorded; "": they are.
  const std::string& whyNoCalls() const { return why_no_calls_; }
  /// What samples have counted for each thread.
  const std::vector<PerfCounter>& counters() const { return events_.counters(); }
  /// Why functions of Python have no names in stacks; "": they have.
  const std::string& whyNoPython() const { return why_no_python_; }

 private:
  SystemRecorder(PerfEvents events, std::unique_ptr<KernelTracer> tracer, std::string why_no_calls,
                 const SystemOptions& options);
  void prepare();
  Status begin();
  Status beginRunning(const std::vector<uint32_t>& processes,
                      const std::vector<RunningThread>& before, int64_t before_ns);
  void run();
  void drain(bool all);
  void readTracer();
  void followPython();
  void takeTraced(int64_t until_ns);
  void countCalls(uint32_t pid, uint32_t process);
  void finishAll();
  void take(const PerfRecord& record);
  void takeExit(const PerfExit& ended, int64_t time_ns);
  void takeSample(const PerfPlace& place, const PerfSample& sample);

  const SystemOptions options_;
  PerfEvents events_;
  std::unique_ptr<KernelTracer> tracer_;  // nullptr: no rights
  std::string why_no_calls_, why_no_python_;
  SampledProcesses processes_;
  SampledPaths paths_;
  SampledStacks stacks_;
  ThreadStates states_;
  std::unordered_map<uint32_t, int64_t> last_ns_;  // of the last record of a processor
  SystemEvents now_;                               // of one drain
  KernelEvents kernel_events_;
  CounterTracks tracks_{now_};
  ThreadCounters counters_;
  SystemPressure pressure_{tracks_};
  /// Records of the tracer, by time; they are taken when those of perf events have come as far.
  struct Traced {
    int64_t time_ns;
    std::vector<uint8_t> bytes;
  };
  std::deque<Traced> traced_;
  uint64_t traced_lost_ = 0;
  int64_t drained_ns_ = 0;  // until then all records were taken
  std::atomic<bool> stop_{false};
  std::thread thread_;
  std::mutex mutex_;  // of new_
  SystemEvents new_;
};

}  // namespace tracesmith
