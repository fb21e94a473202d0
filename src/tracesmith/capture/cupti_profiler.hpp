// SPDX-License-Identifier: Apache-2.0
// Captures the CUDA work of the calling process through CUPTI. It is the profiler of
// createProfiler(PlatformType::CUDA), with what only CUDA has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/capture/profiler.hpp"

namespace tracesmith {

/// May be created before or after the process's first CUDA call. The driver loads the agent in
/// cuInit(). Only from then on is it known what prevents the use of CUPTI (no libcupti, another
/// tool that uses it). If CUDA is in use already, initialize() reports it, else startCapture() and
/// stopCapture() do.
class CUPTIProfiler : public IPlatformProfiler {
 public:
  CUPTIProfiler() : profiler_(createInProcessProfiler(PlatformType::CUDA)) {}

  PlatformType platformType() const override { return PlatformType::CUDA; }
  bool isAvailable() const override { return profiler_->isAvailable(); }
  bool initialize(const ProfilerConfig& config = {}) override {
    return profiler_->initialize(config);
  }
  void finalize() override { profiler_->finalize(); }
  bool startCapture() override { return profiler_->startCapture(); }
  bool stopCapture() override { return profiler_->stopCapture(); }
  bool isCapturing() const override { return profiler_->isCapturing(); }
  size_t getEvents(std::vector<TraceEvent>& events, size_t max = 0) override {
    return profiler_->getEvents(events, max);
  }
  std::vector<DeviceInfo> getDeviceInfo() const override { return profiler_->getDeviceInfo(); }
  void setEventCallback(EventCallback callback) override {
    profiler_->setEventCallback(std::move(callback));
  }
  uint64_t eventsCaptured() const override { return profiler_->eventsCaptured(); }
  uint64_t eventsDropped() const override { return profiler_->eventsDropped(); }
  std::string lastError() const override { return profiler_->lastError(); }
  ErrorCode lastErrorCode() const override { return profiler_->lastErrorCode(); }

  /// The version that cuptiGetVersion() of the loaded libcupti reports; 0: none is loaded yet.
  uint32_t getCuptiVersion() const;

 private:
  std::unique_ptr<IPlatformProfiler> profiler_;
};

}  // namespace tracesmith
