// SPDX-License-Identifier: Apache-2.0
// Captures the OpenCL or CUDA work of the calling process with the agent of `tracesmith profile`.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/capture/in_process/captured_work.hpp"
#include "tracesmith/capture/in_process/event_buffer.hpp"
#include "tracesmith/capture/in_process/event_feed.hpp"
#include "tracesmith/capture/in_process/in_process_capture.hpp"
#include "tracesmith/capture/in_process/loaded_cupti.hpp"
#include "tracesmith/capture/in_process/process_bound_profiler.hpp"
#include "tracesmith/capture/join/vendor_frames.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"
#include "tracesmith/capture/profiler.hpp"

namespace tracesmith {
namespace {

constexpr auto kReadPeriod = std::chrono::milliseconds(20);
/// Longest time that stopCapture() waits for unfinished device work.
constexpr int64_t kDrainNs = 500'000'000;

/// Whether an OpenCL driver is loaded already. Then the loader has read its list of layers, without
/// ours.
bool openClInUse() {
  const char* named = std::getenv("OCL_ICD_VENDORS");
  const std::filesystem::path place = named != nullptr ? named : "/etc/OpenCL/vendors";
  auto loaded = [](const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  };
  std::error_code ec;
  if (!std::filesystem::is_directory(place, ec)) return loaded(place);
  for (const auto& entry : std::filesystem::directory_iterator(place, ec)) {
    std::ifstream file(entry.path());
    std::string library;
    if (std::getline(file, library) && !library.empty() && loaded(library)) return true;
  }
  return false;
}

/// The agent stays in the process once it is loaded, and so does the capture, until the process
/// ends. All profilers share it, one after the other.
class SharedCapture {
 public:
  /// Null with `error` when another profiler uses it, or it cannot be armed.
  static InProcessCapture* acquire(PlatformType platform, const ProfilerConfig& config,
                                   std::string& error) {
    SharedCapture& shared = instance();
    const std::lock_guard lock(shared.mutex_);
    if (shared.capture_ != nullptr && shared.owner_ != getpid()) {
      error = fmt::format(
          "process {}, from which this one was forked, is being captured by a profiler, and this "
          "one with it",
          shared.owner_);
      return nullptr;
    }
    if (shared.in_use_) {
      error = fmt::format("another {} profiler of this process is initialized; finalize() it first",
                          platformTypeToString(shared.platform_));
      return nullptr;
    }
    if (shared.capture_ != nullptr && shared.platform_ != platform) {
      error = fmt::format(
          "this process has been captured by a profiler of {}, and only one platform can be "
          "captured from within; `tracesmith profile` captures all",
          platformTypeToString(shared.platform_));
      return nullptr;
    }
    if (shared.capture_ == nullptr) {
      if (platform == PlatformType::OpenCL && openClInUse()) {
        error =
            "OpenCL is in use already; initialize the profiler before the first OpenCL call of "
            "the process, or run the program under `tracesmith profile`";
        return nullptr;
      }
      InProcessOptions options;
      options.platform = platform;
      if (config.overflow_policy != OverflowPolicy::Block) {
        options.overflow = OverflowPolicy::DropNewest;
      }
      if (config.capture_callstacks) {
        // One more for the frame that marks a cut stack.
        const uint32_t more = 1 + (platform == PlatformType::CUDA ? kVendorFrames : 0);
        options.stack_depth =
            std::clamp(config.callstack_depth, 1u, StackOptions::kMostDepth - more) + more;
      }
      auto armed = InProcessCapture::arm(options);
      if (!armed) {
        error = armed.error().toString();
        return nullptr;
      }
      shared.capture_ = armed->release();
      shared.owner_ = getpid();
      shared.platform_ = platform;
      shared.with_stacks_ = config.capture_callstacks;
    } else if (config.capture_callstacks && !shared.with_stacks_) {
      error =
          "call stacks are to be captured, but the first profiler of this process was initialized "
          "without capture_callstacks";
      return nullptr;
    }
    // The agent cannot be loaded a second time.
    if (error = shared.capture_->problem(); !error.empty()) return nullptr;
    shared.in_use_ = true;
    return shared.capture_;
  }
  static void release() {
    SharedCapture& shared = instance();
    const std::lock_guard lock(shared.mutex_);
    shared.in_use_ = false;
  }

 private:
  static SharedCapture& instance() {
    static SharedCapture shared;
    return shared;
  }
  ~SharedCapture() {
    // The exit of a forked child must not end the capture: its threads and files belong to the
    // parent.
    if (owner_ == getpid()) delete capture_;
  }

  std::mutex mutex_;
  InProcessCapture* capture_ = nullptr;
  PlatformType platform_ = PlatformType::Unknown;
  pid_t owner_ = 0;
  bool in_use_ = false;
  bool with_stacks_ = false;
};

class InProcessProfiler : public IPlatformProfiler {
 public:
  explicit InProcessProfiler(PlatformType platform) : platform_(platform) {}
  ~InProcessProfiler() override { InProcessProfiler::finalize(); }

  PlatformType platformType() const override { return platform_; }
  bool isAvailable() const override { return missing().empty(); }

  bool initialize(const ProfilerConfig& config) override {
    if (capture_ != nullptr) return misused("already initialized; finalize() first");
    if (config.buffer_size == 0) return misused("buffer_size must be at least 1");
    std::string error = platform_ == PlatformType::CUDA ? missing() : "";
    if (!error.empty()) return refuse(error);
    capture_ = SharedCapture::acquire(platform_, config, error);
    if (capture_ == nullptr) return refuse(error);
    config_ = config;
    buffer_ = std::make_unique<EventBuffer>(config.buffer_size, config.overflow_policy);
    feed_ = EventFeed();
    dropped_before_ = capture_->totals().dropped;
    return true;
  }

  void finalize() override {
    if (capture_ == nullptr) return;
    if (capturing_) (void)InProcessProfiler::stopCapture();
    capture_ = nullptr;
    buffer_.reset();
    SharedCapture::release();
  }

  bool startCapture() override {
    if (capture_ == nullptr) return misused("not initialized");
    if (capturing_) return misused("already capturing");
    if (std::string problem = capture_->problem(); !problem.empty()) return refuse(problem);
    // Discard what an earlier capture left.
    if (auto left = capture_->takeNew(); !left) return refuse(left.error());
    capture_->setActive(true);
    if (std::string problem = capture_->problem(); !problem.empty()) return refuse(problem);
    window_.begin(monotonicNs());
    stop_asked_ = false;
    buffer_->setWaiting(true);
    capture_->setCapturing(true);
    capture_->setActive(true);  // for an agent that was loaded meanwhile
    auto thread = startSignalFreeThread([this] { run(); });
    if (!thread) {
      capture_->setCapturing(false);
      capture_->setActive(false);
      return refuse(thread.error());
    }
    thread_ = std::move(*thread);
    capturing_ = true;
    return true;
  }

  bool stopCapture() override {
    if (!capturing_) return misused("not capturing");
    capture_->setCapturing(false);
    {
      const std::lock_guard lock(stop_mutex_);
      stop_asked_ = true;
    }
    stop_.notify_all();
    buffer_->setWaiting(false);
    thread_.join();
    capture_->setActive(false);
    capturing_ = false;
    if (std::string problem = capture_->problem(); !problem.empty()) return refuse(problem);
    return !run_failed_;
  }

  bool isCapturing() const override { return capturing_; }
  size_t getEvents(std::vector<TraceEvent>& events, size_t max) override {
    return buffer_ ? buffer_->take(events, max) : 0;
  }
  std::vector<DeviceInfo> getDeviceInfo() const override { return deviceInfosOf(platformType()); }
  void setEventCallback(EventCallback callback) override { callback_ = std::move(callback); }
  uint64_t eventsCaptured() const override { return buffer_ ? buffer_->captured() : 0; }
  uint64_t eventsDropped() const override {
    if (!buffer_) return 0;
    return buffer_->dropped() + capture_->totals().dropped - dropped_before_;
  }
  std::string lastError() const override {
    const std::lock_guard lock(error_mutex_);
    return error_.message;
  }
  ErrorCode lastErrorCode() const override {
    const std::lock_guard lock(error_mutex_);
    return error_.code;
  }

 private:
  bool refuse(std::string error, ErrorCode code = ErrorCode::kUnsupported) {
    const std::lock_guard lock(error_mutex_);
    error_ = {code, std::move(error), {}};
    return false;
  }
  bool refuse(const Error& error) { return refuse(error.toString(), error.code); }
  bool misused(std::string how) { return refuse(std::move(how), ErrorCode::kInvalidArgument); }

  /// What this build or machine lacks; "" if nothing.
  std::string missing() const {
    const BackendReport& report = backendReport(platform_);
    if (!report.capture_supported) return report.capture_problem;
    if (!report.devices.empty()) return {};
    if (report.library_found) return fmt::format("{} ({})", report.problem, report.path);
    std::string places;
    for (const std::string& place : report.looked_in) {
      places += (places.empty() ? "" : ", ") + place;
    }
    return fmt::format("{} (looked in {})", report.problem, places);
  }

  void run() {
    run_failed_ = false;
    while (!waitForStop(kReadPeriod)) {
      if (!takeIn()) return;
    }
    const int64_t until_ns = monotonicNs() + kDrainNs;
    while (takeInAll() && feed_.waiting() > 0 && monotonicNs() < until_ns) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (run_failed_ || feed_.waiting() == 0) return;
    if (auto rest = takeNew()) {
      deliver(feed_.next(*rest));
      deliver(feed_.flush(std::move(*rest)));
    }
  }

  bool waitForStop(std::chrono::milliseconds time) {
    std::unique_lock lock(stop_mutex_);
    return stop_.wait_for(lock, time, [&] { return stop_asked_; });
  }

  Result<Trace> takeNew() {
    auto part = capture_->takeNew();
    if (part && platform_ == PlatformType::CUDA) window_.restrict(*part);
    return part;
  }

  bool takeInAll() {
    // CUPTI would keep its records until the agent's next request.
    if (platform_ == PlatformType::CUDA && capture_->agentLoaded()) flushLoadedCupti();
    return takeIn();
  }

  bool takeIn() {
    auto part = takeNew();
    if (!part) {
      run_failed_ = true;
      return refuse(part.error());
    }
    deliver(feed_.next(std::move(*part)));
    return true;
  }

  void deliver(std::vector<TraceEvent> events) {
    for (TraceEvent& event : events) {
      if (!applyConfig(config_, event)) continue;
      if (callback_) callback_(event);
      buffer_->push(std::move(event));
    }
  }

  const PlatformType platform_;
  InProcessCapture* capture_ = nullptr;  // owned by SharedCapture
  ProfilerConfig config_;
  std::unique_ptr<EventBuffer> buffer_;
  EventCallback callback_;
  std::atomic<bool> capturing_ = false;
  uint64_t dropped_before_ = 0;
  EventFeed feed_;  // thread_ uses it while it runs; so for window_
  CallWindow window_;
  mutable std::mutex error_mutex_;
  Error error_{ErrorCode::kUnsupported, {}, {}};
  std::atomic<bool> run_failed_ = false;
  std::thread thread_;
  std::mutex stop_mutex_;
  std::condition_variable stop_;
  bool stop_asked_ = false;
};

}  // namespace

std::unique_ptr<IPlatformProfiler> createInProcessProfiler(PlatformType platform) {
  return bindToProcess(std::make_unique<InProcessProfiler>(platform));
}

}  // namespace tracesmith
