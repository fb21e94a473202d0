// SPDX-License-Identifier: Apache-2.0
// MemoryProfiler: device memory usage over time, peak usage and leaks.
//
// It learns of allocations either from the program, through recordAlloc() and recordFree(), or from
// captured data, through of(). It hooks nothing itself; `tracesmith profile` and the profilers
// (capture/profiler.hpp) do the capturing.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tracesmith/api/memory_report.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// Any thread may call any method; calls that record are serialised. Memory is identified by device
/// and address, in traces also by process. An event older than the previous one counts at the
/// previous event's time; of() sorts events by time first.
class MemoryProfiler {
 public:
  struct Config {
    /// The timeline is divided into slots of this length. Each slot in which something happened has
    /// one snapshot: the one with the most live bytes. When there are more than
    /// max_timeline_samples, the slot length doubles until they fit.
    uint64_t snapshot_interval_ms = 1;
    size_t max_timeline_samples = 10'000;        ///< 0: no timeline
    uint64_t leak_threshold_ns = 1'000'000'000;  ///< minimum age of a leak
    bool track_call_stacks = false;              ///< recordAlloc() stores a hash of its call stack
    /// If false, double frees count as unknown_frees. At least the last half a million released
    /// addresses are remembered.
    bool detect_double_free = true;
    size_t max_events = 1'000'000;  ///< toMemoryEvents() returns at most this many, the latest
  };

  MemoryProfiler();
  explicit MemoryProfiler(const Config& config);
  ~MemoryProfiler();
  MemoryProfiler(MemoryProfiler&& other) noexcept;
  MemoryProfiler& operator=(MemoryProfiler&& other) noexcept;

  /// Profiles a trace, or events in any order. The profile is already stopped; its duration is that
  /// of the events. The trace must be in host time. OpenCL addresses are handles, so there are no
  /// fragmentation figures. If the work was cancelled (base/cancellation.hpp), the profile covers
  /// only part of the input.
  static MemoryProfiler of(const Trace& trace, const Config& config);
  static MemoryProfiler of(std::span<const MemoryEvent> events, const Config& config);
  static MemoryProfiler of(std::span<const TraceEvent> events, const Config& config);
  static MemoryProfiler of(const Trace& trace) { return of(trace, Config()); }

  const Config& config() const;
  /// Starts a new profile and discards earlier records. Does nothing while a profile is active.
  void start();
  void stop();
  bool isActive() const;
  /// Discards what was recorded; an active profile continues from now.
  void clear();

  // The record functions do nothing and return false while no profile is active, and for address 0.

  bool recordAlloc(uint64_t ptr, uint64_t size, uint32_t device_id = 0,
                   std::string_view allocator = "default", std::string_view tag = {});
  /// Also false if nothing is live at that address; the report counts such calls.
  bool recordFree(uint64_t ptr, uint32_t device_id = 0);
  bool recordEvent(const MemoryEvent& event);
  /// Accepts MemAlloc and MemFree events that have memory_params; returns false for others.
  bool recordEvent(const TraceEvent& event);

  uint64_t getCurrentUsage() const;
  uint64_t getCurrentUsage(uint32_t device_id) const;
  uint64_t getPeakUsage() const;
  uint64_t getPeakUsage(uint32_t device_id) const;
  size_t getLiveAllocationCount() const;
  std::vector<MemoryAllocation> getLiveAllocations() const;  ///< sorted by device and address
  MemorySnapshot takeSnapshot() const;
  MemoryReport generateReport() const;
  /// Allocations live for at least Config::leak_threshold_ns, measured now or when the profile was
  /// stopped. Largest first.
  std::vector<MemoryLeak> detectLeaks() const;
  /// The timeline as counters: one "device memory" counter per device, in bytes.
  std::vector<CounterEvent> toCounterEvents() const;
  /// The latest Config::max_events recorded events.
  std::vector<MemoryEvent> toMemoryEvents() const;

  /// `callback` is called with each event after it has been counted, on the thread that recorded
  /// it. Set it before other threads record.
  void setCallback(std::function<void(const MemoryEvent&)> callback);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
