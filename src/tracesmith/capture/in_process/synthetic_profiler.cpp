// SPDX-License-Identifier: Apache-2.0
// A profiler without a device. While it captures, a synthetic training loop "runs" and produces
// events according to the time that passes. Every event has the metadata "synthetic".
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/in_process/event_buffer.hpp"
#include "tracesmith/capture/in_process/process_bound_profiler.hpp"
#include "tracesmith/capture/in_process/synthetic_trace.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"
#include "tracesmith/capture/profiler.hpp"

namespace tracesmith {
namespace {

constexpr auto kEmitPeriod = std::chrono::milliseconds(20);

class SimulationProfiler : public IPlatformProfiler {
 public:
  ~SimulationProfiler() override { SimulationProfiler::finalize(); }

  PlatformType platformType() const override { return PlatformType::Simulation; }
  bool isAvailable() const override { return true; }
  bool initialize(const ProfilerConfig& config) override;
  void finalize() override;
  bool startCapture() override;
  bool stopCapture() override;
  bool isCapturing() const override { return capturing_; }
  size_t getEvents(std::vector<TraceEvent>& events, size_t max) override {
    return buffer_ ? buffer_->take(events, max) : 0;
  }
  std::vector<DeviceInfo> getDeviceInfo() const override {
    SimulationOptions none;
    none.duration_s = 0;
    return deviceInfos(simulateTrace(none));
  }
  void setEventCallback(EventCallback callback) override { callback_ = std::move(callback); }
  uint64_t eventsCaptured() const override { return buffer_ ? buffer_->captured() : 0; }
  uint64_t eventsDropped() const override { return buffer_ ? buffer_->dropped() : 0; }
  std::string lastError() const override {
    const std::lock_guard lock(error_mutex_);
    return error_.message;
  }
  ErrorCode lastErrorCode() const override {
    const std::lock_guard lock(error_mutex_);
    return error_.code;
  }

 private:
  bool failWith(std::string error, ErrorCode code = ErrorCode::kInvalidArgument) {
    const std::lock_guard lock(error_mutex_);
    error_ = {code, std::move(error), {}};
    return false;
  }
  void run();
  void advance(int64_t now_ns);
  void deliver(TraceEvent event);

  ProfilerConfig config_;
  std::unique_ptr<EventBuffer> buffer_;
  EventCallback callback_;
  std::atomic<bool> capturing_ = false;
  mutable std::mutex error_mutex_;
  Error error_{ErrorCode::kUnsupported, {}, {}};

  // State of the current capture; only `thread_` uses the first three while it runs.
  std::optional<Simulation> simulation_;
  std::vector<std::pair<uint64_t, TraceEvent>> ahead_;  // events not yet over, with their end times
  bool first_piece_ = true;
  uint64_t seed_ = 0;
  uint64_t next_correlation_ = 1;
  std::thread thread_;
  std::mutex stop_mutex_;
  std::condition_variable stop_;
  bool stop_asked_ = false;
};

bool SimulationProfiler::initialize(const ProfilerConfig& config) {
  if (buffer_) return failWith("already initialized; finalize() first");
  if (config.buffer_size == 0) return failWith("buffer_size must be at least 1");
  config_ = config;
  buffer_ = std::make_unique<EventBuffer>(config.buffer_size, config.overflow_policy);
  return true;
}

void SimulationProfiler::finalize() {
  if (capturing_) (void)SimulationProfiler::stopCapture();
  buffer_.reset();
}

bool SimulationProfiler::startCapture() {
  if (!buffer_) return failWith("not initialized");
  if (capturing_) return failWith("already capturing");
  SimulationOptions options;
  options.start_ns = monotonicNs();
  options.seed = ++seed_;
  options.first_correlation_id = next_correlation_;
  simulation_.emplace(options);
  ahead_.clear();
  first_piece_ = true;
  stop_asked_ = false;
  buffer_->setWaiting(true);
  auto thread = startSignalFreeThread([this] { run(); });
  if (!thread) return failWith(thread.error().toString(), thread.error().code);
  thread_ = std::move(*thread);
  capturing_ = true;
  return true;
}

bool SimulationProfiler::stopCapture() {
  if (!capturing_) return failWith("not capturing");
  {
    const std::lock_guard lock(stop_mutex_);
    stop_asked_ = true;
  }
  stop_.notify_all();
  buffer_->setWaiting(false);
  thread_.join();
  capturing_ = false;
  return true;
}

void SimulationProfiler::run() {
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(stop_mutex_);
      last = stop_.wait_for(lock, kEmitPeriod, [&] { return stop_asked_; });
    }
    advance(monotonicNs());
  }
}

/// Delivers the events that are over by `now_ns`. A launch and its kernel are delivered together.
/// If the capture ends before the kernel, neither is.
void SimulationProfiler::advance(int64_t now_ns) {
  simulation_->runUntil(now_ns);
  std::vector<TraceEvent> events = toEvents(simulation_->take());
  std::unordered_map<uint64_t, uint64_t> over_ns;
  for (const TraceEvent& e : events) {
    uint64_t& over = over_ns[e.correlation_id];
    over = std::max(over, e.timestamp + e.duration);
    next_correlation_ = std::max(next_correlation_, e.correlation_id + 1);
  }
  for (TraceEvent& e : events) {
    // Later pieces repeat the dictionaries of the first one.
    if (!first_piece_ && (e.type == EventType::StreamCreate || e.type == EventType::ContextCreate))
      continue;
    const uint64_t over =
        e.correlation_id != 0 ? over_ns[e.correlation_id] : e.timestamp + e.duration;
    ahead_.emplace_back(over, std::move(e));
  }
  first_piece_ = false;
  const auto later = std::stable_partition(ahead_.begin(), ahead_.end(), [&](const auto& e) {
    return e.first <= static_cast<uint64_t>(now_ns);
  });
  std::vector<std::pair<uint64_t, TraceEvent>> due(std::make_move_iterator(ahead_.begin()),
                                                   std::make_move_iterator(later));
  ahead_.erase(ahead_.begin(), later);
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) {
    return a.second.timestamp < b.second.timestamp;
  });
  for (auto& [over, event] : due) deliver(std::move(event));
}

void SimulationProfiler::deliver(TraceEvent event) {
  if (!applyConfig(config_, event)) return;
  event.metadata.emplace("synthetic", "1");
  if (callback_) callback_(event);
  buffer_->push(std::move(event));
}

}  // namespace

std::unique_ptr<IPlatformProfiler> createSimulationProfiler() {
  return bindToProcess(std::make_unique<SimulationProfiler>());
}

}  // namespace tracesmith
