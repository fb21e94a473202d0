// SPDX-License-Identifier: Apache-2.0
// Moves the events of a profiler into a session while both run. The profiler's buffer is bounded,
// and its content would be lost with a killed program.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/profiler.hpp"

namespace tracesmith::python {

/// Not thread-safe. Profiler and session must outlive it. In a forked child it does nothing,
/// because its thread exists only in the parent.
class DeviceFeed {
 public:
  DeviceFeed(IPlatformProfiler& profiler, TracingSession& session)
      : profiler_(profiler), session_(session) {}
  /// Calls stop().
  ~DeviceFeed();
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  /// Call at most once. Error: the thread could not be created.
  Status start();
  /// Moves the remaining events. Events lost on the way are in the trace's table `loss`.
  void stop();

 private:
  struct Mover {
    std::mutex mutex;
    std::condition_variable wake;
    bool stop_asked = false;
    std::thread thread;
  };
  void run();
  void move();

  IPlatformProfiler& profiler_;
  TracingSession& session_;
  std::unique_ptr<Mover> mover_;  // between start() and stop()
  uint32_t owner_pid_ = 0;
  std::vector<TraceEvent> events_;
  // Events so far:
  uint64_t taken_ = 0;    // accepted by the session
  uint64_t refused_ = 0;  // refused by the session
  uint64_t dropped_ = 0;  // dropped by the profiler
};

}  // namespace tracesmith::python
