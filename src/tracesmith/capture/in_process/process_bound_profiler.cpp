// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/process_bound_profiler.hpp"

#include <unistd.h>

#include <utility>

namespace tracesmith {
namespace {

class ProcessBoundProfiler : public IPlatformProfiler {
 public:
  explicit ProcessBoundProfiler(std::unique_ptr<IPlatformProfiler> profiler)
      : platform_(profiler->platformType()), profiler_(std::move(profiler)) {}
  ~ProcessBoundProfiler() override {
    // The destructor of a condition variable blocks forever when a thread of the parent waits on
    // it.
    if (!ours()) (void)profiler_.release();
  }

  PlatformType platformType() const override { return platform_; }
  bool isAvailable() const override { return ours() && profiler_->isAvailable(); }
  bool initialize(const ProfilerConfig& config) override {
    if (!ours() || !profiler_->initialize(config)) return false;
    owner_ = getpid();
    return true;
  }
  void finalize() override {
    if (!ours()) return;
    profiler_->finalize();
    owner_ = 0;
  }
  bool startCapture() override { return ours() && profiler_->startCapture(); }
  bool stopCapture() override { return ours() && profiler_->stopCapture(); }
  bool isCapturing() const override { return ours() && profiler_->isCapturing(); }
  size_t getEvents(std::vector<TraceEvent>& events, size_t max) override {
    return ours() ? profiler_->getEvents(events, max) : 0;
  }
  std::vector<DeviceInfo> getDeviceInfo() const override {
    if (!ours()) return {};
    return profiler_->getDeviceInfo();
  }
  void setEventCallback(EventCallback callback) override {
    if (ours()) profiler_->setEventCallback(std::move(callback));
  }
  uint64_t eventsCaptured() const override { return ours() ? profiler_->eventsCaptured() : 0; }
  uint64_t eventsDropped() const override { return ours() ? profiler_->eventsDropped() : 0; }
  std::string lastError() const override {
    if (ours()) return profiler_->lastError();
    return "this profiler belongs to process " + std::to_string(owner_) +
           ", from which this one was forked; create another one here";
  }
  ErrorCode lastErrorCode() const override {
    return ours() ? profiler_->lastErrorCode() : ErrorCode::kUnsupported;
  }

 private:
  bool ours() const { return owner_ == 0 || owner_ == getpid(); }

  PlatformType platform_;
  std::unique_ptr<IPlatformProfiler> profiler_;
  pid_t owner_ = 0;  // the process that called initialize(); 0: none
};

}  // namespace

std::unique_ptr<IPlatformProfiler> bindToProcess(std::unique_ptr<IPlatformProfiler> profiler) {
  return std::make_unique<ProcessBoundProfiler>(std::move(profiler));
}

}  // namespace tracesmith
