// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/profiler.hpp"

#include <fmt/format.h>

#include <array>

#include "tracesmith/capture/cupti_profiler.hpp"
#include "tracesmith/capture/devices/devices.hpp"

namespace tracesmith {
namespace {

int deviceCount(PlatformType platform) {
  return static_cast<int>(backendReport(platform).devices.size());
}

/// A backend that this build cannot capture. It reports the reason and the existing devices.
class UnavailableProfiler : public IPlatformProfiler {
 public:
  explicit UnavailableProfiler(PlatformType platform) : platform_(platform) {}

  PlatformType platformType() const override { return platform_; }
  bool isAvailable() const override { return false; }
  bool initialize(const ProfilerConfig&) override {
    const char* name = platformTypeToString(platform_);
    if (platform_ == PlatformType::Unknown) {
      error_ = "no platform was chosen; detectPlatform() finds the one that this machine has";
      return false;
    }
    const BackendReport& report = backendReport(platform_);
    if (report.library_found) {
      error_ = fmt::format("this build cannot capture {}, though {} is there ({})", name,
                           report.library, report.path);
    } else {
      std::string places;
      for (const std::string& place : report.looked_in) places += ", " + place;
      error_ = fmt::format("this build cannot capture {}; {}", name, report.problem);
      if (!places.empty()) error_ += fmt::format(" (looked in {})", places.substr(2));
    }
    return false;
  }
  void finalize() override {}
  bool startCapture() override { return refuse(); }
  bool stopCapture() override { return refuse(); }
  bool isCapturing() const override { return false; }
  size_t getEvents(std::vector<TraceEvent>&, size_t) override { return 0; }
  std::vector<DeviceInfo> getDeviceInfo() const override {
    if (platform_ == PlatformType::Unknown) return {};
    return deviceInfosOf(platform_);
  }
  void setEventCallback(EventCallback) override {}
  uint64_t eventsCaptured() const override { return 0; }
  uint64_t eventsDropped() const override { return 0; }
  std::string lastError() const override { return error_; }

 private:
  bool refuse() {
    if (error_.empty()) error_ = "not initialized";
    return false;
  }

  PlatformType platform_;
  std::string error_;
};

}  // namespace

std::vector<DeviceInfo> deviceInfosOf(PlatformType platform) {
  const BackendReport& report = backendReport(platform);
  Trace trace;
  trace.strings = report.strings;
  for (size_t i = 0; i < report.devices.size(); ++i) {
    DeviceRow row = report.devices[i];
    row.id = idAt<DeviceId>(i);
    trace.device.push(row);
  }
  return deviceInfos(trace);
}

std::unique_ptr<IPlatformProfiler> createProfiler(PlatformType platform) {
  switch (platform) {
    case PlatformType::Simulation:
      return createSimulationProfiler();
    case PlatformType::OpenCL:
      return createInProcessProfiler(platform);
    case PlatformType::CUDA:
      return std::make_unique<CUPTIProfiler>();
    default:
      return std::make_unique<UnavailableProfiler>(platform);
  }
}

PlatformType detectPlatform() {
  constexpr std::array kOrder = {PlatformType::CUDA,   PlatformType::ROCm,  PlatformType::MACA,
                                 PlatformType::Ascend, PlatformType::Metal, PlatformType::OpenCL,
                                 PlatformType::Vulkan};
  for (const PlatformType platform : kOrder)
    if (deviceCount(platform) > 0) return platform;
  return PlatformType::Unknown;
}

bool isCUDAAvailable() { return deviceCount(PlatformType::CUDA) > 0; }
bool isROCmAvailable() { return deviceCount(PlatformType::ROCm) > 0; }
bool isMetalAvailable() { return deviceCount(PlatformType::Metal) > 0; }
bool isMACAAvailable() { return deviceCount(PlatformType::MACA) > 0; }
bool isAscendAvailable() { return deviceCount(PlatformType::Ascend) > 0; }
bool isOpenCLAvailable() { return deviceCount(PlatformType::OpenCL) > 0; }
int getCUDADeviceCount() { return deviceCount(PlatformType::CUDA); }
int getROCmDeviceCount() { return deviceCount(PlatformType::ROCm); }
int getMetalDeviceCount() { return deviceCount(PlatformType::Metal); }
int getMACADeviceCount() { return deviceCount(PlatformType::MACA); }
int getAscendDeviceCount() { return deviceCount(PlatformType::Ascend); }
int getCUDADriverVersion() {
  return static_cast<int>(backendReport(PlatformType::CUDA).driver_version);
}

const char* platformTypeToString(PlatformType platform) {
  constexpr std::array kNames = {"Unknown", "CUDA",   "ROCm",   "Metal",     "MACA",
                                 "Ascend",  "OpenCL", "Vulkan", "Simulation"};
  const auto i = static_cast<size_t>(platform);
  return i < kNames.size() ? kNames[i] : "Unknown";
}

bool applyConfig(const ProfilerConfig& config, TraceEvent& event) {
  if (!config.capture_kernel_params) event.kernel_params.reset();
  if (!config.capture_memory_params) event.memory_params.reset();
  if (!config.capture_callstacks) {
    event.call_stack.reset();
  } else if (event.call_stack && event.call_stack->depth() > config.callstack_depth) {
    event.call_stack->frames.resize(config.callstack_depth);
  }
  switch (event.type) {
    case EventType::KernelLaunch:
    case EventType::KernelComplete:
      return config.capture_kernels;
    case EventType::MemcpyH2D:
    case EventType::MemcpyD2H:
    case EventType::MemcpyD2D:
      return config.capture_memcpy;
    case EventType::MemsetDevice:
      return config.capture_memset;
    case EventType::StreamSync:
    case EventType::DeviceSync:
    case EventType::EventRecord:
    case EventType::EventSync:
      return config.capture_sync;
    case EventType::MemAlloc:
    case EventType::MemFree:
      return config.capture_alloc;
    // Waits and copies that have no event type of their own.
    case EventType::Marker:
      return config.capture_sync || event.metadata.count("sync_kind") == 0;
    case EventType::Custom:
      return config.capture_memcpy || event.metadata.count("copy_kind") == 0;
    default:
      return true;
  }
}

}  // namespace tracesmith
