// SPDX-License-Identifier: Apache-2.0
// Turns TraceEvents into the rows of a Trace, also when the trace is written in parts.
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

/// Names of attributes that hold the fields of a TraceEvent for which a table has no column. A key
/// that begins with '.' is ours; a '.' at the beginning of a user's key is doubled.
namespace event_attributes {
constexpr const char* kType = ".type";
constexpr const char* kStream = ".stream_id";
constexpr const char* kDuration = ".duration";
constexpr const char* kKernelParams = ".kernel_params";  ///< 8 decimal numbers
constexpr const char* kMemoryParams = ".memory_params";  ///< 3 decimal numbers
constexpr const char* kFlow = ".flow";                   ///< id, type, 1 for the start
constexpr const char* kCallStack = ".call_stack";        ///< thread id, where it is not the event's
constexpr const char* kCustomData = ".custom_data";      ///< hexadecimal
}  // namespace event_attributes

/// Appends to one Trace, which must outlive it. Devices, streams and threads are rows of their own:
/// those that the trace already has are used again.
class EventAppender {
 public:
  explicit EventAppender(Trace& trace);

  void append(const TraceEvent& event);
  /// Gives how many were appended: all, unless it was cancelled (base/cancellation.hpp).
  size_t append(std::span<const TraceEvent> events);
  void append(const CounterEvent& event);
  /// Describes a device; events refer to it by its device_id.
  void setDevice(const DeviceInfo& info);
  void setMetadata(const TraceMetadata& metadata);
  /// A thread of a process that the trace knows; events with this thread_id then belong to it.
  ThreadId addThread(ProcessId process, uint32_t tid, std::string_view name);
  /// A counter that belongs to no device; the same one for the same name and unit.
  CounterTrackId counterTrack(std::string_view name, std::string_view unit);

  /// To be called when the rows so far have been written: empties the tables (the strings stay),
  /// and goes on counting rows and ids as if they were still there.
  void rowsWritten();

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

  struct Has {  // which fields the row of an event could hold itself
    bool kernel_params = false;
    bool memory_params = false;
    bool stream = true;
    bool duration = true;
    bool type = true;
  };
  void addAttributes(const TraceEvent& event, TableId table, uint64_t row, const Has& has);
  template <class Table>
  uint64_t lastRow(const Table& table) const;

  Trace& trace_;
  std::map<TableId, uint64_t> written_;  // rows of each table before those in trace_
  std::map<uint32_t, DeviceId> devices_;
  std::map<uint32_t, ContextId> contexts_;  // one for each device
  std::map<std::pair<uint32_t, uint32_t>, StreamId> streams_;
  std::map<uint32_t, ThreadId> threads_;
  std::map<std::array<uint32_t, 8>, ShapeId> shapes_;
  std::map<std::array<uint64_t, 5>, FrameId> frames_;
  std::map<std::pair<CallPathId, FrameId>, CallPathId> paths_;
  /// The number of a device that is none, for counters.
  static constexpr uint32_t kNoDevice = UINT32_MAX;
  CounterTrackId counterTrack(std::string_view name, std::string_view unit, uint32_t device_number);
  std::map<std::pair<std::string, std::pair<std::string, uint32_t>>, CounterTrackId> tracks_;
  uint32_t next_device_ = 1;
  uint32_t next_context_ = 1;
  uint32_t next_stream_ = 1;
  uint32_t next_thread_ = 1;
};

}  // namespace tracesmith
