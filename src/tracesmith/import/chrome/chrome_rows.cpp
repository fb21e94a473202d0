// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_rows.hpp"

#include <algorithm>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/import/common/event_categories.hpp"

namespace tracesmith::import {
namespace {

uint64_t argBytes(const ChromeEvent& event) {
  return static_cast<uint64_t>(std::max<int64_t>(event[EventField::kArgBytes].integer(), 0));
}

}  // namespace

void ChromeRows::push(const ChromeEvent& event, const ChromePlan& plan, int64_t start_ns,
                      int64_t duration_ns) {
  const Span span = {event, plan, start_ns, duration_ns, text(event[EventField::kName])};
  switch (plan.table) {
    case TableId::kKernel: {
      auto kernel = workRow<KernelRow>(span);
      kernel.shape_id = tracks_.launchShape(event);
      delta_.kernel.push(kernel);
      return;
    }
    case TableId::kCopy: {
      auto copy = workRow<CopyRow>(span);
      const std::string_view task = event[EventField::kArgTaskType].raw;
      copy.kind = task.empty() ? copyKindOf(event[EventField::kName].raw)
                               : ascendCopyKind(event[EventField::kName].raw, task);
      copy.bytes = argBytes(event);
      copy.source_device_id = tracks_.device(event[EventField::kArgFromDevice]);
      copy.destination_device_id = tracks_.device(event[EventField::kArgToDevice]);
      delta_.copy.push(copy);
      return;
    }
    case TableId::kFill: {
      auto fill = workRow<FillRow>(span);
      fill.bytes = argBytes(event);
      delta_.fill.push(fill);
      return;
    }
    case TableId::kSync:
      return pushSync(span);
    case TableId::kHostCall:
      return pushCall(span);
    case TableId::kMemoryEvent:
      return pushMemory(span);
    case TableId::kFlowEvent:
      return pushArrow(span);
    default:
      return pushRange(span);
  }
}

/// Fills the columns common to all device work.
template <class Row>
Row ChromeRows::workRow(const Span& span) {
  const ChromeTracks::Work at = tracks_.workOf(span.event);
  Row row;
  row.start_ns = span.start_ns;
  row.duration_ns = span.duration_ns;
  row.process_id = at.process;
  row.thread_id = at.thread;
  row.stream_id = at.stream;
  row.correlation_id = at.correlation;
  row.name = span.name;
  return row;
}

void ChromeRows::pushSync(const Span& span) {
  auto sync = workRow<SyncRow>(span);
  const std::string_view task = span.event[EventField::kArgTaskType].raw;
  sync.kind = task.empty() ? syncKindOf(span.event[EventField::kName].raw) : ascendSyncKind(task);
  // Kineto shows host waits on streams. Ascend's tasks run on the device.
  if (task.empty() && (sync.kind == SyncKind::kStreamWait || sync.kind == SyncKind::kDeviceWait ||
                       sync.kind == SyncKind::kEventWait)) {
    sync.flags = op_flags::kHostSide;
  }
  delta_.sync.push(sync);
  pushWait(span.event, sync);
}

void ChromeRows::pushCall(const Span& span) {
  const ProcessId in = tracks_.process(span.event[EventField::kProcess]);
  const ThreadId by = tracks_.thread(in, span.event[EventField::kThread]);
  const uint64_t id = correlationOf(span.event);
  tracks_.noteLaunch(id, in, by);
  delta_.host_call.push(
      {.start_ns = span.start_ns,
       .duration_ns = span.duration_ns,
       .name = span.name,
       .process_id = in,
       .thread_id = by,
       .correlation_id = id,
       .kind = callKindOf(span.event[EventField::kName].raw, span.event.category())});
}

void ChromeRows::pushMemory(const Span& span) {
  const ProcessId in = tracks_.process(span.event[EventField::kProcess]);
  const int64_t size = span.event[EventField::kArgBytes].integer();
  // PyTorch's DeviceType: 0 is the host.
  const bool on_device = span.event[EventField::kArgDeviceType].integer(0) != 0;
  const JsonToken& ordinal = span.event[EventField::kArgDeviceId];
  delta_.memory_event.push(
      {.time_ns = span.start_ns,
       .kind = size < 0 ? MemoryKind::kFree : MemoryKind::kAlloc,
       .process_id = in,
       .thread_id = tracks_.thread(in, span.event[EventField::kThread]),
       .device_id = on_device ? tracks_.device(ordinal) : DeviceId::kNone,
       .address = static_cast<uint64_t>(span.event[EventField::kArgAddress].integer()),
       .bytes = size < 0 ? -static_cast<uint64_t>(size) : static_cast<uint64_t>(size),
       .name = span.name});
}

/// Pushes one end of a flow, or a step between its ends.
void ChromeRows::pushArrow(const Span& span) {
  const JsonToken& id = span.event[EventField::kId];
  const ProcessId in = tracks_.process(span.event[EventField::kProcess]);
  const char phase = span.event.phase();
  delta_.flow_event.push({.time_ns = span.start_ns,
                          .end = phase == 's'   ? FlowEnd::kBegin
                                 : phase == 'f' ? FlowEnd::kEnd
                                                : FlowEnd::kStep,
                          .flow_id = id.type == JsonType::kInteger ? static_cast<uint64_t>(id.value)
                                                                   : hash64(asBytes(id.raw)),
                          .name = span.name,
                          .category = categoryOf(span.event, span.plan),
                          .process_id = in,
                          .thread_id = tracks_.thread(in, span.event[EventField::kThread])});
}

void ChromeRows::pushRange(const Span& span) {
  RangeRow range{.start_ns = span.start_ns,
                 .duration_ns = span.duration_ns,
                 .name = span.name,
                 .category = categoryOf(span.event, span.plan)};
  const char phase = span.event.phase();
  if ((phase == 'X' || phase == 'B') && span.plan.kind == ChromeKind::kDeviceRange) {
    const ChromeTracks::Work at = tracks_.workOf(span.event);
    range.process_id = at.process;
    range.stream_id = at.stream;
  } else {
    range.kind = phase == 'X' || phase == 'B' ? RangeKind::kRange
                 : phase == 'E'               ? RangeKind::kEnd
                                              : RangeKind::kInstant;
    range.process_id = tracks_.process(span.event[EventField::kProcess]);
    range.thread_id = tracks_.thread(range.process_id, span.event[EventField::kThread]);
    tracks_.noteHostEvent(range.process_id, span.event[EventField::kProcess]);
    const int64_t sequence = span.event[EventField::kArgSequenceNumber].integer(-1);
    if (sequence >= 0) {
      range.sequence_number = static_cast<uint64_t>(sequence) + 1;
      const int64_t thread = span.event[EventField::kArgForwardThread].integer();
      range.forward_thread = static_cast<uint32_t>(std::clamp<int64_t>(thread, 0, UINT32_MAX));
    }
  }
  delta_.range.push(range);
}

/// Adds the flow of a wait for an event: it waits for the work that was on the event's stream when
/// the event was recorded.
void ChromeRows::pushWait(const ChromeEvent& event, const SyncRow& wait) {
  const int64_t record = event[EventField::kArgRecordCorrelation].integer();
  if (record <= 0 || wait.correlation_id == 0) return;
  const StreamId stream = tracks_.waitedStream(event, wait.process_id);
  if (stream == StreamId::kNone) return;
  delta_.flow.push({.process_id = wait.process_id,
                    .from_correlation_id = static_cast<uint64_t>(record),
                    .to_correlation_id = wait.correlation_id,
                    .kind = FlowKind::kWait,
                    .from_stream_id = stream});
}

}  // namespace tracesmith::import
