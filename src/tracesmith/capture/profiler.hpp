// SPDX-License-Identifier: Apache-2.0
// Capture from inside a program: create a profiler, start, run the work, stop, take the events.
// `tracesmith profile` does the same from outside, for unmodified programs.
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
  size_t buffer_size = 1'000'000;  ///< most events waiting for getEvents(); at least 1
  OverflowPolicy overflow_policy = OverflowPolicy::DropOldest;
  bool capture_callstacks = false;  ///< host call stack of each launch, if the backend supports it
  uint32_t callstack_depth = 32;    ///< number of frames, from the innermost one
  bool capture_kernel_params = true;  ///< fill TraceEvent::kernel_params
  bool capture_memory_params = true;  ///< fill TraceEvent::memory_params
  bool capture_kernels = true;
  bool capture_memcpy = true;
  bool capture_memset = true;
  bool capture_sync = true;
  bool capture_alloc = true;
};

/// One profiler of one backend. All methods may be called from any thread, with two exceptions:
/// startCapture() and stopCapture() must not run concurrently with each other, and initialize() and
/// finalize() not with anything.
class IPlatformProfiler {
 public:
  using EventCallback = std::function<void(const TraceEvent&)>;

  virtual ~IPlatformProfiler() = default;

  virtual PlatformType platformType() const = 0;
  /// Whether initialize() can work: this build can capture the backend, and the machine has it.
  virtual bool isAvailable() const = 0;

  /// False: lastError() gives the reason. A second call without finalize() is refused.
  virtual bool initialize(const ProfilerConfig& config = {}) = 0;
  /// Stops the capture and discards events that have not been taken.
  virtual void finalize() = 0;

  virtual bool startCapture() = 0;
  virtual bool stopCapture() = 0;
  virtual bool isCapturing() const = 0;

  /// Moves up to `max` events (0: all), oldest first, from the profiler to the end of `events`.
  /// Returns their number.
  virtual size_t getEvents(std::vector<TraceEvent>& events, size_t max = 0) = 0;
  virtual std::vector<DeviceInfo> getDeviceInfo() const = 0;
  /// Sets a function that is called for each new event, on a thread of the profiler. getEvents()
  /// returns the event as well. The function must not call the profiler. Set it while capture is
  /// stopped.
  virtual void setEventCallback(EventCallback callback) = 0;

  /// Events accepted since initialize() and not dropped: captured + dropped = all events.
  virtual uint64_t eventsCaptured() const = 0;
  virtual uint64_t eventsDropped() const = 0;

  /// Why the last failing call returned false; "" when none has.
  virtual std::string lastError() const = 0;
  /// Kind of that failure: kInvalidArgument for calls that are not allowed here or now.
  virtual ErrorCode lastErrorCode() const { return ErrorCode::kUnsupported; }
};

/// Creates a profiler; never null. For a backend that this build cannot capture, isAvailable() and
/// initialize() return false, and lastError() says which library is missing and where it was looked
/// for.
std::unique_ptr<IPlatformProfiler> createProfiler(PlatformType platform);

/// The first platform with a device on this machine, in the order CUDA, ROCm, MACA, Ascend, Metal,
/// OpenCL, Vulkan; Unknown if there is none. The results of this and the following functions are
/// kept for the life of the process. The first call takes as long as the vendor's library needs, at
/// most 10 s.
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
/// The driver's CUDA version as cuDriverGetVersion() gives it: 12040 for 12.4; 0: no driver.
int getCUDADriverVersion();

/// The devices that a backend's library reports, whether or not this build can capture them.
std::vector<DeviceInfo> deviceInfosOf(PlatformType platform);

/// "CUDA", "ROCm", …, "Simulation", "Unknown".
const char* platformTypeToString(PlatformType platform);

/// Applies the config's exclusions: returns false to leave the event out, otherwise removes the
/// unwanted parameters from it.
bool applyConfig(const ProfilerConfig& config, TraceEvent& event);

// The backends of this build.
std::unique_ptr<IPlatformProfiler> createSimulationProfiler();
/// OpenCL or CUDA.
std::unique_ptr<IPlatformProfiler> createInProcessProfiler(PlatformType platform);

}  // namespace tracesmith
