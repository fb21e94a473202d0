// SPDX-License-Identifier: Apache-2.0
// Moves what a profiler captures into a session while both run: the profiler's buffer is bounded,
// and a program that is killed would take it along.
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

/// One thread at a time. Profiler and session outlive it. In a forked child it does nothing: its
/// thread is the parent's.
class DeviceFeed {
 public:
  DeviceFeed(IPlatformProfiler& profiler, TracingSession& session)
      : profiler_(profiler), session_(session) {}
  /// As stop().
  ~DeviceFeed();
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  /// Once. Error: no room for a thread.
  Status start();
  /// Moves what is left. What was lost on the way is in the trace's table of losses.
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
  uint64_t taken_ = 0;    // by the session
  uint64_t refused_ = 0;  // by it
  uint64_t dropped_ = 0;  // by the profiler
};

}  // namespace tracesmith::python
