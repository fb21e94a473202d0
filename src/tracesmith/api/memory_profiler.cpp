// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/memory_profiler.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <numeric>

#include "tracesmith/api/memory_ledger.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/model/live_memory.hpp"
#include "tracesmith/stacks/stack_capture.hpp"

namespace tracesmith {
namespace {

uint64_t hashOf(const CallStack& stack) {
  uint64_t hash = 0;
  for (const StackFrame& frame : stack.frames) {
    hash = hash64({reinterpret_cast<const uint8_t*>(&frame.address), sizeof(frame.address)}, hash);
  }
  return hash;
}

MemoryEvent memoryEventOf(const TraceEvent& event) {
  MemoryEvent memory;
  memory.timestamp = event.timestamp;
  memory.device_id = event.device_id;
  memory.thread_id = event.thread_id;
  memory.bytes = event.memory_params->size_bytes;
  memory.ptr = event.memory_params->dst_address;
  memory.is_allocation = event.type == EventType::MemAlloc;
  memory.allocator_name = event.name;
  return memory;
}

/// The process of an event. Events of several processes each name theirs (model/event_listing.cpp).
uint64_t processOf(const TraceEvent& event) {
  const auto said = event.metadata.find("process_id");
  uint64_t process = 0;
  if (said != event.metadata.end()) {
    std::from_chars(said->second.data(), said->second.data() + said->second.size(), process);
  }
  return process;
}

MemoryLedger::Change changeOf(const TraceEvent& event) {
  return {.event = memoryEventOf(event),
          .process = processOf(event),
          .handles = false,
          .tag = {},
          .stack = event.call_stack ? hashOf(*event.call_stack) : 0};
}

bool isMemory(const TraceEvent& event) {
  return (event.type == EventType::MemAlloc || event.type == EventType::MemFree) &&
         event.memory_params && event.memory_params->dst_address != 0;
}

}  // namespace

uint64_t MemoryAllocation::lifetime_ns() const {
  const Timestamp end = !is_live() ? free_time : as_of ? *as_of : getCurrentTimestamp();
  return end > alloc_time ? end - alloc_time : 0;
}

struct MemoryProfiler::Impl {
  Impl(const Config& wanted, Timestamp from) : config(wanted), begin(from), ledger(wanted, from) {}

  bool record(MemoryLedger::Change change) {
    if (!active.load(std::memory_order_relaxed) || change.event.ptr == 0) return false;
    bool known;
    {
      const std::lock_guard lock(mutex);
      if (!active.load(std::memory_order_relaxed)) return false;
      if (change.event.timestamp == 0) change.event.timestamp = getCurrentTimestamp();
      known = ledger.apply(change);
    }
    if (callback) callback(change.event);
    return known;
  }
  /// When the profile ended, or now while it is active.
  Timestamp at() const {
    return active.load(std::memory_order_relaxed) ? std::max(getCurrentTimestamp(), ledger.now())
                                                  : end;
  }
  void beginAt(Timestamp from) {
    begin = from;
    ledger = MemoryLedger(config, from);
  }
  void endAt(Timestamp to) {
    end = std::max(to, ledger.now());
    active = false;
  }

  const Config config;
  mutable std::mutex mutex;
  std::atomic<bool> active{false};
  Timestamp begin, end = 0;
  MemoryLedger ledger;
  std::function<void(const MemoryEvent&)> callback;
};

MemoryProfiler::MemoryProfiler() : MemoryProfiler(Config()) {}
MemoryProfiler::MemoryProfiler(const Config& config) : impl_(std::make_unique<Impl>(config, 0)) {}
MemoryProfiler::~MemoryProfiler() = default;
MemoryProfiler::MemoryProfiler(MemoryProfiler&& other) noexcept = default;
MemoryProfiler& MemoryProfiler::operator=(MemoryProfiler&& other) noexcept = default;

MemoryProfiler MemoryProfiler::of(const Trace& trace, const Config& config) {
  MemoryProfiler profiler(config);
  Impl& impl = *profiler.impl_;
  const TimeRange range = timeRange(trace);
  impl.beginAt(static_cast<uint64_t>(range.begin_ns));
  impl.active = true;
  const MemoryEventTable& rows = trace.memory_event;
  std::vector<MemoryEvent> events = tracesmith::toMemoryEvents(trace);
  std::vector<uint32_t> event_of(rows.size());  // rows of unknown kinds have no event
  for (uint32_t row = 0, event = 0; row < rows.size(); ++row) {
    event_of[row] = event;
    event += rows.kind[row] == MemoryKind::kAlloc || rows.kind[row] == MemoryKind::kFree ? 1 : 0;
  }
  for (const MemoryChange& found : memoryChanges(trace)) {
    if (event_of[found.row] >= events.size()) break;  // cancelled
    const auto device = static_cast<size_t>(found.device);
    MemoryLedger::Change change{.event = std::move(events[event_of[found.row]]),
                                .process = static_cast<uint64_t>(rows.process_id[found.row]),
                                .handles = device != 0 && device <= trace.device.size() &&
                                           trace.device.backend[device - 1] == PlatformType::OpenCL,
                                .tag = {},
                                .stack = static_cast<uint64_t>(rows.call_path_id[found.row])};
    impl.ledger.apply(change);
  }
  impl.endAt(static_cast<uint64_t>(range.end_ns));
  return profiler;
}

MemoryProfiler MemoryProfiler::of(std::span<const MemoryEvent> events, const Config& config) {
  MemoryProfiler profiler(config);
  Impl& impl = *profiler.impl_;
  std::vector<uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return events[a].timestamp < events[b].timestamp;
  });
  impl.beginAt(order.empty() ? 0 : events[order.front()].timestamp);
  size_t step = 0;
  for (const uint32_t i : order) {
    if (isCancelledAt(step++)) break;
    if (events[i].ptr == 0) continue;
    MemoryLedger::Change change{events[i], 0, false, {}, 0};
    impl.ledger.apply(change);
  }
  impl.endAt(order.empty() ? 0 : events[order.back()].timestamp);
  return profiler;
}

MemoryProfiler MemoryProfiler::of(std::span<const TraceEvent> events, const Config& config) {
  MemoryProfiler profiler(config);
  Impl& impl = *profiler.impl_;
  std::vector<const TraceEvent*> order;
  Timestamp begin = UINT64_MAX, end = 0;
  for (const TraceEvent& event : events) {
    begin = std::min(begin, event.timestamp);
    end = std::max(end, event.timestamp + event.duration);
    if (isMemory(event)) order.push_back(&event);
  }
  std::stable_sort(order.begin(), order.end(), [](const TraceEvent* a, const TraceEvent* b) {
    return a->timestamp < b->timestamp;
  });
  impl.beginAt(events.empty() ? 0 : begin);
  size_t step = 0;
  for (const TraceEvent* event : order) {
    if (isCancelledAt(step++)) break;
    MemoryLedger::Change change = changeOf(*event);
    impl.ledger.apply(change);
  }
  impl.endAt(end);
  return profiler;
}

const MemoryProfiler::Config& MemoryProfiler::config() const { return impl_->config; }

void MemoryProfiler::start() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->active) return;
  impl_->beginAt(getCurrentTimestamp());
  impl_->active = true;
}

void MemoryProfiler::stop() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->active) impl_->endAt(getCurrentTimestamp());
}

bool MemoryProfiler::isActive() const { return impl_->active; }

void MemoryProfiler::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->beginAt(impl_->active ? getCurrentTimestamp() : 0);
  impl_->end = 0;
}

bool MemoryProfiler::recordAlloc(uint64_t ptr, uint64_t size, uint32_t device_id,
                                 std::string_view allocator, std::string_view tag) {
  if (!isActive()) return false;
  MemoryLedger::Change change;
  change.event.device_id = device_id;
  change.event.thread_id = static_cast<uint32_t>(StackCapture::getCurrentThreadId());
  change.event.bytes = size;
  change.event.ptr = ptr;
  change.event.allocator_name = allocator;
  change.tag = tag;
  if (impl_->config.track_call_stacks) {
    StackCapture capture({.resolve_symbols = false});
    CallStack stack;
    capture.capture(stack);
    change.stack = hashOf(stack);
  }
  return impl_->record(std::move(change));
}

bool MemoryProfiler::recordFree(uint64_t ptr, uint32_t device_id) {
  if (!isActive()) return false;
  MemoryLedger::Change change;
  change.event.device_id = device_id;
  change.event.thread_id = static_cast<uint32_t>(StackCapture::getCurrentThreadId());
  change.event.ptr = ptr;
  change.event.is_allocation = false;
  return impl_->record(std::move(change));
}

bool MemoryProfiler::recordEvent(const MemoryEvent& event) {
  return impl_->record({event, 0, false, {}, 0});
}

bool MemoryProfiler::recordEvent(const TraceEvent& event) {
  if (!isMemory(event)) return false;
  return impl_->record(changeOf(event));
}

uint64_t MemoryProfiler::getCurrentUsage() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.usage();
}

uint64_t MemoryProfiler::getCurrentUsage(uint32_t device_id) const {
  const std::lock_guard lock(impl_->mutex);
  const AllocatorStats* const stats = impl_->ledger.ofDevice(device_id);
  return stats == nullptr ? 0 : stats->current_usage;
}

uint64_t MemoryProfiler::getPeakUsage() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.peak();
}

uint64_t MemoryProfiler::getPeakUsage(uint32_t device_id) const {
  const std::lock_guard lock(impl_->mutex);
  const AllocatorStats* const stats = impl_->ledger.ofDevice(device_id);
  return stats == nullptr ? 0 : stats->peak_usage;
}

size_t MemoryProfiler::getLiveAllocationCount() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.liveCount();
}

std::vector<MemoryAllocation> MemoryProfiler::getLiveAllocations() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.liveAllocations(impl_->at());
}

MemorySnapshot MemoryProfiler::takeSnapshot() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.snapshot(impl_->at());
}

MemoryReport MemoryProfiler::generateReport() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.report(impl_->at());
}

std::vector<MemoryLeak> MemoryProfiler::detectLeaks() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.leaks(impl_->at());
}

std::vector<CounterEvent> MemoryProfiler::toCounterEvents() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.counters();
}

std::vector<MemoryEvent> MemoryProfiler::toMemoryEvents() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ledger.events();
}

void MemoryProfiler::setCallback(std::function<void(const MemoryEvent&)> callback) {
  const std::lock_guard lock(impl_->mutex);
  impl_->callback = std::move(callback);
}

}  // namespace tracesmith
