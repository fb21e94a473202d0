// SPDX-License-Identifier: Apache-2.0
// Capturing from inside a program: create a profiler, start, run the work, stop, take the events.
// `tracesmith profile` does the same from outside, for programs that are not to be changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/overflow_policy.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

struct ProfilerConfig {
  size_t buffer_size = 1'000'000;  ///< events that wait for getEvents() at most; at least 1
  OverflowPolicy overflow_policy = OverflowPolicy::DropOldest;
  bool capture_callstacks = false;    ///< host call stack of each launch, where the backend has it
  uint32_t callstack_depth = 32;      ///< frames, from the innermost on
  bool capture_kernel_params = true;  ///< fill TraceEvent::kernel_params
  bool capture_memory_params = true;  ///< fill TraceEvent::memory_params
  bool capture_kernels = true;
  bool capture_memcpy = true;
  bool capture_memset = true;
  bool capture_sync = true;
  bool capture_alloc = true;
};

/// One profiler of one backend. startCapture() and stopCapture() not at the same time as each
/// other, initialize() and finalize() not at the same time as anything; all else from any thread.
class IPlatformProfiler {
 public:
  using EventCallback = std::function<void(const TraceEvent&)>;

  virtual ~IPlatformProfiler() = default;

  virtual PlatformType platformType() const = 0;
  /// Whether initialize() can work: this build can capture the backend, and the machine has it.
  virtual bool isAvailable() const = 0;

  /// False: lastError() says why. A second call without finalize() is refused.
  virtual bool initialize(const ProfilerConfig& config = {}) = 0;
  /// Stops, and forgets what has not been taken.
  virtual void finalize() = 0;

  virtual bool startCapture() = 0;
  virtual bool stopCapture() = 0;
  virtual bool isCapturing() const = 0;

  /// Moves events out of the profiler to the end of `events`, the oldest first, `max` at most
  /// (0: all). Returns how many.
  virtual size_t getEvents(std::vector<TraceEvent>& events, size_t max = 0) = 0;
  virtual std::vector<DeviceInfo> getDeviceInfo() const = 0;
  /// Called for each event as it is taken in, on a thread of the profiler's; getEvents() gives the
  /// event as well. It must not call the profiler. Set it while nothing is captured.
  virtual void setEventCallback(EventCallback callback) = 0;

  /// Events taken in since initialize(), without those dropped: captured + dropped = happened.
  virtual uint64_t eventsCaptured() const = 0;
  virtual uint64_t eventsDropped() const = 0;

  /// Why the last call that returned false did so; "" when none has.
  virtual std::string lastError() const = 0;
  /// What kind of failure that was: kInvalidArgument for calls that make no sense here or now.
  virtual ErrorCode lastErrorCode() const { return ErrorCode::kUnsupported; }
};

/// Never null. For a backend that this build cannot capture, isAvailable() is false, initialize()
/// returns false, and lastError() says which library is missing and where it was looked for.
std::unique_ptr<IPlatformProfiler> createProfiler(PlatformType platform);

/// The platform whose devices this machine has: CUDA, ROCm, MACA, Ascend, Metal, OpenCL, Vulkan, in
/// this order; Unknown when there is none. What these functions find is kept for the life of the
/// process; the first question takes as long as the vendor's library needs, at most 10 s.
PlatformType detectPlatform();
bool isCUDAAvailable();
bool isROCmAvailable();
bool isMetalAvailable();
bool isMACAAvailable();
bool isAscendAvailable();
bool isOpenCLAvailable();
int getCUDADeviceCount();
int getROCmDeviceCount();
int getMetalDeviceCount();
int getMACADeviceCount();
int getAscendDeviceCount();
/// The CUDA that the driver knows, as cuDriverGetVersion() gives it: 12040 for 12.4; 0: no driver.
int getCUDADriverVersion();

/// The devices that a backend's library sees, whether or not this build can capture them.
std::vector<DeviceInfo> deviceInfosOf(PlatformType platform);

/// "CUDA", "ROCm", …, "Simulation", "Unknown".
const char* platformTypeToString(PlatformType platform);

/// What `config` asks to leave out: false when the whole event, else its parameters are removed.
bool applyConfig(const ProfilerConfig& config, TraceEvent& event);

// The backends of this build.
std::unique_ptr<IPlatformProfiler> createSimulationProfiler();
/// OpenCL or CUDA.
std::unique_ptr<IPlatformProfiler> createInProcessProfiler(PlatformType platform);

}  // namespace tracesmith
