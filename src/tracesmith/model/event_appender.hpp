// SPDX-License-Identifier: Apache-2.0
// Converts TraceEvents to rows of a Trace, which may be written in parts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// Keys of attributes for TraceEvent fields that have no column in their table. Keys starting with
/// '.' are reserved; a '.' at the start of a user's key is doubled.
namespace event_attributes {
constexpr const char* kType = ".type";
constexpr const char* kStream = ".stream_id";
constexpr const char* kDuration = ".duration";
constexpr const char* kKernelParams = ".kernel_params";  ///< 8 decimal numbers
constexpr const char* kMemoryParams = ".memory_params";  ///< 3 decimal numbers
constexpr const char* kFlow = ".flow";                   ///< id, type; 1 for the start
/// Thread id, if it differs from the event's.
constexpr const char* kCallStack = ".call_stack";
constexpr const char* kCustomData = ".custom_data";  ///< hexadecimal
}  // namespace event_attributes

/// Appends to one Trace, which must outlive it. Creates rows for devices, streams and threads, and
/// reuses those that the trace already has.
class EventAppender {
 public:
  explicit EventAppender(Trace& trace);

  void append(const TraceEvent& event);
  /// Returns how many events were appended: all, unless cancelled (base/cancellation.hpp).
  size_t append(std::span<const TraceEvent> events);
  void append(const CounterEvent& event);
  /// Sets the description of a device, to which events refer by device_id.
  void setDevice(const DeviceInfo& info);
  void setMetadata(const TraceMetadata& metadata);
  /// Adds a thread of a process in the trace; events with this thread_id then belong to it.
  ThreadId addThread(ProcessId process, uint32_t tid, std::string_view name);
  /// A counter that belongs to no device; equal for equal name and unit.
  CounterTrackId counterTrack(std::string_view name, std::string_view unit);

  /// Call this after the rows so far have been written. It empties the tables but keeps the
  /// strings, and continues to number rows and ids as if the rows were still there.
  void rowsWritten();
  /// Counts rows of events from 0 again, for a new file that has the same dictionaries.
  void beginFile();

 private:
  DeviceId device(uint32_t number);
  StreamId stream(uint32_t device_number, uint32_t number);
  ThreadId thread(uint32_t tid);
  ShapeId shape(const KernelParams& params);
  CallPathId callPath(const CallStack& stack);
  StringId text(std::string_view s) { return trace_.strings.intern(s); }

  void appendLaunch(const TraceEvent& event);
  void appendKernel(const TraceEvent& event);
  void appendCopy(const TraceEvent& event, CopyKind kind);
  void appendFill(const TraceEvent& event);
  void appendSync(const TraceEvent& event, SyncKind kind);
  void appendMemory(const TraceEvent& event, MemoryKind kind);
  void appendRange(const TraceEvent& event);

  struct EventFields {  // fields that the row of an event can hold
    bool kernel_params = false;
    bool memory_params = false;
    bool stream = true;
    bool duration = true;
    bool type = true;
  };
  void addAttributes(const TraceEvent& event, TableId table, uint64_t row, const EventFields& has);
  template <class Table>
  uint64_t lastRow(const Table& table) const;

  Trace& trace_;
  std::map<TableId, uint64_t> written_;  // rows of each table before those in trace_
  std::map<uint32_t, DeviceId> devices_;
  std::map<uint32_t, ContextId> contexts_;  // one per device
  std::map<std::pair<uint32_t, uint32_t>, StreamId> streams_;
  std::map<uint32_t, ThreadId> threads_;
  std::map<std::array<uint32_t, 8>, ShapeId> shapes_;
  std::map<std::array<uint64_t, 5>, FrameId> frames_;
  std::map<std::pair<CallPathId, FrameId>, CallPathId> paths_;
  /// Device number of counters that belong to no device.
  static constexpr uint32_t kNoDevice = UINT32_MAX;
  CounterTrackId counterTrack(std::string_view name, std::string_view unit, uint32_t device_number);
  std::map<std::pair<std::string, std::pair<std::string, uint32_t>>, CounterTrackId> tracks_;
  uint32_t next_device_ = 1;
  uint32_t next_context_ = 1;
  uint32_t next_stream_ = 1;
  uint32_t next_thread_ = 1;
};

}  // namespace tracesmith
