// SPDX-License-Identifier: Apache-2.0
// MemoryProfiler: who holds how much device memory, when it was most, and what was never released.
//
// It is told of allocations: by the program itself, with recordAlloc() and recordFree(), or by what
// was captured, with of(). It hooks nothing; `tracesmith profile` and the profilers capture.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tracesmith/api/memory_report.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// Any thread may call any method; those that record take turns. Memory is known by its device and
/// address (in traces also by its process). An event that is older than the one before counts at
/// the time of that one; of() puts them in order first.
class MemoryProfiler {
 public:
  struct Config {
    /// The timeline has one snapshot for each stretch of so long in which something happened: the
    /// one with the most live bytes. Where that gives more than max_timeline_samples, stretches
    /// become twice as long, as often as it takes.
    uint64_t snapshot_interval_ms = 1;
    size_t max_timeline_samples = 10'000;  ///< 0: no timeline
    uint64_t leak_threshold_ns = 1'000'000'000;
    bool track_call_stacks = false;  ///< of recordAlloc(), as a hash of its addresses
    /// Else they count as unknown_frees. Of released addresses at least the last half a million
    /// are known.
    bool detect_double_free = true;
    size_t max_events = 1'000'000;  ///< that toMemoryEvents() gives: the latest
  };

  MemoryProfiler();
  explicit MemoryProfiler(const Config& config);
  ~MemoryProfiler();
  MemoryProfiler(MemoryProfiler&& other) noexcept;
  MemoryProfiler& operator=(MemoryProfiler&& other) noexcept;

  /// Of a trace, or of events in any order: a profile that is stopped, and lasts as long as they
  /// do. The trace must be in host time. OpenCL's addresses are handles: no fragmentation. Where it
  /// was cancelled (base/cancellation.hpp) it knows of a part.
  static MemoryProfiler of(const Trace& trace, const Config& config);
  static MemoryProfiler of(std::span<const MemoryEvent> events, const Config& config);
  static MemoryProfiler of(std::span<const TraceEvent> events, const Config& config);
  static MemoryProfiler of(const Trace& trace) { return of(trace, Config()); }

  const Config& config() const;
  /// Begins anew: what was recorded before is forgotten. Does nothing while it is active.
  void start();
  void stop();
  bool isActive() const;
  /// Forgets what was recorded; an active profile goes on from now.
  void clear();

  // These do nothing and return false while it is not active, and for address 0.

  bool recordAlloc(uint64_t ptr, uint64_t size, uint32_t device_id = 0,
                   std::string_view allocator = "default", std::string_view tag = {});
  /// False also where nothing live is at that address: that is counted.
  bool recordFree(uint64_t ptr, uint32_t device_id = 0);
  bool recordEvent(const MemoryEvent& event);
  /// MemAlloc and MemFree with memory_params; others return false.
  bool recordEvent(const TraceEvent& event);

  uint64_t getCurrentUsage() const;
  uint64_t getCurrentUsage(uint32_t device_id) const;
  uint64_t getPeakUsage() const;
  uint64_t getPeakUsage(uint32_t device_id) const;
  size_t getLiveAllocationCount() const;
  std::vector<MemoryAllocation> getLiveAllocations() const;  ///< by device and address
  MemorySnapshot takeSnapshot() const;
  MemoryReport generateReport() const;
  /// Live for at least Config::leak_threshold_ns: now, or when it was stopped. Largest first.
  std::vector<MemoryLeak> detectLeaks() const;
  /// The timeline as counters: "device memory" of each device, in bytes.
  std::vector<CounterEvent> toCounterEvents() const;
  /// The latest Config::max_events of what was recorded.
  std::vector<MemoryEvent> toMemoryEvents() const;

  /// Called with each event after it has been counted, on the thread that recorded it. Set it
  /// before others record.
  void setCallback(std::function<void(const MemoryEvent&)> callback);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
