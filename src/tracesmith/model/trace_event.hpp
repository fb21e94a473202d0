// SPDX-License-Identifier: Apache-2.0
// TraceEvent: one event as a row with strings, a map and optionals, for convenience in the API. A
// Trace holds the same data as columns; toEvents() and appendEvents() convert between them. Every
// time here is host time in ns (CLOCK_MONOTONIC), see getCurrentTimestamp().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

using Timestamp = uint64_t;

/// The numbers are on disk (range.event_type): append, never renumber.
enum class EventType : uint8_t {
  Unknown = 0,
  KernelLaunch = 1,    ///< host side: the call that launched a kernel
  KernelComplete = 2,  ///< device side: the kernel itself, with its duration
  MemcpyH2D = 3,
  MemcpyD2H = 4,
  MemcpyD2D = 5,
  MemsetDevice = 6,
  StreamSync = 7,
  DeviceSync = 8,
  EventRecord = 9,
  EventSync = 10,
  StreamCreate = 11,
  StreamDestroy = 12,
  ContextCreate = 13,
  ContextDestroy = 14,
  MemAlloc = 15,
  MemFree = 16,
  Marker = 17,
  RangeStart = 18,
  RangeEnd = 19,
  NCCLStart = 20,
  NCCLComplete = 21,
  Custom = 22,
};
constexpr int kEventTypeCount = 23;

/// "KernelLaunch" for EventType::KernelLaunch; "Unknown" for an invalid number.
const char* eventTypeToString(EventType type);
/// The inverse, ignoring case; nullopt for an unknown name.
std::optional<EventType> eventTypeFromString(std::string_view name);

struct StackFrame {
  uint64_t address = 0;
  std::string function_name;
  std::string file_name;
  uint32_t line_number = 0;
  std::string module;  ///< library or executable; "Python": a Python function, without address
  bool operator==(const StackFrame&) const = default;
};

struct CallStack {
  std::vector<StackFrame> frames;  ///< innermost first
  uint64_t thread_id = 0;
  bool empty() const { return frames.empty(); }
  size_t depth() const { return frames.size(); }
  bool operator==(const CallStack&) const = default;
};

struct KernelParams {
  uint32_t grid_x = 0, grid_y = 0, grid_z = 0;     ///< groups (blocks)
  uint32_t block_x = 0, block_y = 0, block_z = 0;  ///< work-items (threads) per group
  uint32_t shared_mem_bytes = 0;                   ///< per group, static and dynamic
  uint32_t registers_per_thread = 0;
  bool operator==(const KernelParams&) const = default;
};

struct MemoryParams {
  uint64_t src_address = 0;
  uint64_t dst_address = 0;  ///< for an allocation, its address
  uint64_t size_bytes = 0;
  bool operator==(const MemoryParams&) const = default;
};

enum class FlowType : uint8_t { None = 0, FwdBwd = 1, AsyncCpuGpu = 2, Custom = 3 };

/// One end of a flow arrow; both ends have the same id.
struct FlowInfo {
  uint64_t id = 0;
  FlowType type = FlowType::None;
  bool is_start = false;
  bool operator==(const FlowInfo&) const = default;
};

struct TraceEvent {
  EventType type = EventType::Unknown;
  Timestamp timestamp = 0;
  Timestamp duration = 0;  ///< 0 for an instant
  uint32_t device_id = 0;
  uint32_t stream_id = 0;
  uint64_t correlation_id = 0;  ///< equal for a launch and its kernel; 0: none
  std::string name;
  uint32_t thread_id = 0;  ///< the system's thread id; 0: unknown
  std::map<std::string, std::string> metadata;
  FlowInfo flow_info;
  std::optional<KernelParams> kernel_params;
  std::optional<MemoryParams> memory_params;
  std::optional<CallStack> call_stack;
  std::vector<uint8_t> custom_data;

  TraceEvent() = default;
  explicit TraceEvent(EventType event_type, Timestamp time = getCurrentTimestamp())
      : type(event_type), timestamp(time) {}
  bool operator==(const TraceEvent&) const = default;
};

struct MemoryEvent {
  enum class Category : uint8_t { Unknown, Activation, Gradient, Parameter, Temporary, Cached };
  Timestamp timestamp = 0;
  uint32_t device_id = 0;
  uint32_t thread_id = 0;
  uint64_t bytes = 0;
  uint64_t ptr = 0;
  bool is_allocation = true;
  std::string allocator_name;
  Category category = Category::Unknown;
};

struct CounterEvent {
  Timestamp timestamp = 0;
  uint32_t device_id = 0;
  uint32_t track_id = 0;  ///< read: the CounterTrackId; ignored when written
  std::string counter_name;
  double value = 0;
  std::string unit;
};

struct DeviceInfo {
  uint32_t device_id = 0;
  std::string name;
  std::string vendor;
  uint32_t compute_major = 0;
  uint32_t compute_minor = 0;
  uint64_t total_memory = 0;          ///< bytes
  uint32_t memory_clock_rate = 0;     ///< MHz
  uint32_t memory_bus_width = 0;      ///< bits
  uint32_t multiprocessor_count = 0;  ///< compute units
  uint32_t max_threads_per_mp = 0;
  uint32_t clock_rate = 0;  ///< MHz
  uint32_t warp_size = 0;
  bool operator==(const DeviceInfo&) const = default;
};

struct TraceMetadata {
  std::string application_name;
  std::string command_line;
  Timestamp start_time = 0;
  Timestamp end_time = 0;
  std::string hostname;
  uint32_t process_id = 0;
  std::vector<DeviceInfo> devices;
};

/// A whole trace as rows.
class TraceRecord {
 public:
  void addEvent(TraceEvent event) { events_.push_back(std::move(event)); }
  const std::vector<TraceEvent>& events() const { return events_; }
  std::vector<TraceEvent>& events() { return events_; }
  size_t size() const { return events_.size(); }
  bool empty() const { return events_.empty(); }
  void clear();
  void reserve(size_t count) { events_.reserve(count); }
  const TraceMetadata& metadata() const { return metadata_; }
  TraceMetadata& metadata() { return metadata_; }

  /// Sorts by time; events with equal times keep their order.
  void sortByTimestamp();
  std::vector<TraceEvent> filterByType(EventType type) const;
  std::vector<TraceEvent> filterByStream(uint32_t stream_id) const;
  std::vector<TraceEvent> filterByDevice(uint32_t device_id) const;

 private:
  std::vector<TraceEvent> events_;
  TraceMetadata metadata_;
};

/// The device and stream numbers used in TraceEvents: the ordinal if it is unique among all rows,
/// else the row's number from 0. Indexed by indexOf(id).
std::vector<uint32_t> deviceNumbers(const Trace& trace);
std::vector<uint32_t> streamNumbers(const Trace& trace);

/// All events, sorted by time. A kernel becomes one KernelLaunch (from its host call) and one
/// KernelComplete, with the same correlation id. Copies, fills, syncs and memory events become one
/// event each; so do ranges, streams, contexts and builds. The trace must be in host time. Data
/// that has no field in TraceEvent ("api", "result", "arguments", …) goes to its metadata.
std::vector<TraceEvent> toEvents(const Trace& trace);

/// The inverse: appends rows to `trace` from which toEvents() restores every field of `events`.
/// Fields without a column become `attribute` rows. To append in parts, see EventAppender.
void appendEvents(Trace& trace, std::span<const TraceEvent> events);

std::vector<MemoryEvent> toMemoryEvents(const Trace& trace);
std::vector<CounterEvent> toCounterEvents(const Trace& trace);

std::vector<DeviceInfo> deviceInfos(const Trace& trace);
/// Metadata of the trace. Without metadata rows it is derived from the profiled process and the
/// times of the events.
TraceMetadata traceMetadata(const Trace& trace);

}  // namespace tracesmith
