// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/event_appender.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {
namespace {

/// The ids that `table` already has, by `key(row)`; among equal keys the first id is used.
template <class Map, class Table, class Key>
void remember(Map& map, const Table& table, Key key) {
  for (size_t i = 0; i < table.size(); ++i) {
    map.try_emplace(key(table.row(i)), idAt<typename Map::mapped_type>(i));
  }
}

std::array<uint32_t, 8> numbersOf(const KernelParams& p) {
  return {p.grid_x,  p.grid_y,  p.grid_z,           p.block_x,
          p.block_y, p.block_z, p.shared_mem_bytes, p.registers_per_thread};
}

std::array<uint64_t, 5> keyOf(const FrameRow& r) {
  return {r.address, static_cast<uint64_t>(r.function), static_cast<uint64_t>(r.file), r.line,
          static_cast<uint64_t>(r.module)};
}

/// A launch shape stores work-items, not groups, so groups without work-items cannot be restored.
bool fitsShape(const KernelParams& p) { return p.block_x != 0 && p.block_y != 0 && p.block_z != 0; }

std::string hexOf(const std::vector<uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (uint8_t b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

}  // namespace

EventAppender::EventAppender(Trace& trace) : trace_(trace) {
  const std::vector<uint32_t> devices = deviceNumbers(trace);
  const std::vector<uint32_t> streams = streamNumbers(trace);
  for (size_t i = 0; i < devices.size(); ++i) devices_.try_emplace(devices[i], idAt<DeviceId>(i));
  for (size_t i = 0; i < trace.context.size(); ++i) {
    const auto device = static_cast<size_t>(trace.context.device_id[i]);
    if (device == 0 || device > devices.size()) continue;
    contexts_.try_emplace(devices[device - 1], idAt<ContextId>(i));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const auto device = static_cast<size_t>(trace.stream.device_id[i]);
    if (device == 0 || device > devices.size()) continue;
    streams_.try_emplace({devices[device - 1], streams[i]}, idAt<StreamId>(i));
  }
  remember(threads_, trace.thread, [](const ThreadRow& r) { return r.tid; });
  remember(frames_, trace.frame, [](const FrameRow& r) { return keyOf(r); });
  remember(paths_, trace.call_path,
           [](const CallPathRow& r) { return std::pair(r.parent, r.frame); });
  next_device_ = static_cast<uint32_t>(trace.device.size()) + 1;
  next_context_ = static_cast<uint32_t>(trace.context.size()) + 1;
  next_stream_ = static_cast<uint32_t>(trace.stream.size()) + 1;
  next_thread_ = static_cast<uint32_t>(trace.thread.size()) + 1;
}

template <class Table>
uint64_t EventAppender::lastRow(const Table& table) const {
  const auto written = written_.find(Table::kId);
  return (written == written_.end() ? 0 : written->second) + table.size() - 1;
}

void EventAppender::rowsWritten() {
  forEachTable(trace_, [&](auto& table) {
    written_[std::decay_t<decltype(table)>::kId] += table.size();
    table.clear();
  });
}

void EventAppender::beginFile() {
  for (auto& [table, rows] : written_) {
    if (table >= TableId::kHostCall) rows = 0;
  }
}

DeviceId EventAppender::device(uint32_t number) {
  auto [it, fresh] = devices_.try_emplace(number);
  if (fresh) {
    it->second = static_cast<DeviceId>(next_device_++);
    trace_.device.push({.id = it->second, .ordinal = number});
    contexts_[number] = static_cast<ContextId>(next_context_++);
    trace_.context.push({.id = contexts_[number], .ordinal = number, .device_id = it->second});
  }
  return it->second;
}

StreamId EventAppender::stream(uint32_t device_number, uint32_t number) {
  auto [it, fresh] = streams_.try_emplace({device_number, number});
  if (fresh) {
    const DeviceId device_id = device(device_number);
    it->second = static_cast<StreamId>(next_stream_++);
    trace_.stream.push({.id = it->second,
                        .context_id = contexts_[device_number],
                        .device_id = device_id,
                        .ordinal = number});
  }
  return it->second;
}

ThreadId EventAppender::thread(uint32_t tid) {
  if (tid == 0) return ThreadId::kNone;
  auto [it, fresh] = threads_.try_emplace(tid);
  if (fresh) {
    it->second = static_cast<ThreadId>(next_thread_++);
    trace_.thread.push({.id = it->second, .tid = tid});
  }
  return it->second;
}

ShapeId EventAppender::shape(const KernelParams& p) {
  auto [it, fresh] = shapes_.try_emplace(numbersOf(p));
  if (fresh) {
    LaunchShapeRow row;
    row.dimensions = p.grid_z > 1 || p.block_z > 1 ? 3 : p.grid_y > 1 || p.block_y > 1 ? 2 : 1;
    row.global_x = uint64_t{p.grid_x} * p.block_x;
    row.global_y = uint64_t{p.grid_y} * p.block_y;
    row.global_z = uint64_t{p.grid_z} * p.block_z;
    row.local_x = p.block_x;
    row.local_y = p.block_y;
    row.local_z = p.block_z;
    row.dynamic_shared_bytes = p.shared_mem_bytes;
    row.registers_per_thread = p.registers_per_thread;
    trace_.launch_shape.push(row);
    it->second = idAt<ShapeId>(lastRow(trace_.launch_shape));
  }
  return it->second;
}

CallPathId EventAppender::callPath(const CallStack& stack) {
  CallPathId path = CallPathId::kNone;
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    const FrameRow row = {.address = frame->address,
                          .function = text(frame->function_name),
                          .file = text(frame->file_name),
                          .line = frame->line_number,
                          .module = text(frame->module)};
    auto [f, new_frame] = frames_.try_emplace(keyOf(row));
    if (new_frame) {
      trace_.frame.push(row);
      f->second = idAt<FrameId>(lastRow(trace_.frame));
    }
    auto [p, new_path] = paths_.try_emplace({path, f->second});
    if (new_path) {
      trace_.call_path.push({.parent = path, .frame = f->second});
      p->second = idAt<CallPathId>(lastRow(trace_.call_path));
    }
    path = p->second;
  }
  return path;
}

void EventAppender::addAttributes(const TraceEvent& event, TableId table, uint64_t row,
                                  const EventFields& has) {
  namespace key = event_attributes;
  auto add = [&](std::string_view name, std::string_view value) {
    trace_.attribute.push({.table = static_cast<uint32_t>(table),
                           .row_number = row,
                           .key = text(name),
                           .value = text(value)});
  };
  if (!has.type) add(key::kType, eventTypeToString(event.type));
  if (!has.stream && event.stream_id != 0) add(key::kStream, std::to_string(event.stream_id));
  if (!has.duration && event.duration != 0) add(key::kDuration, std::to_string(event.duration));
  if (event.kernel_params && !(has.kernel_params && fitsShape(*event.kernel_params))) {
    add(key::kKernelParams, fmt::format("{}", fmt::join(numbersOf(*event.kernel_params), " ")));
  }
  if (event.memory_params && !has.memory_params) {
    const MemoryParams& p = *event.memory_params;
    add(key::kMemoryParams, fmt::format("{} {} {}", p.src_address, p.dst_address, p.size_bytes));
  }
  if (event.flow_info != FlowInfo{}) {
    add(key::kFlow,
        fmt::format("{} {} {}", event.flow_info.id, static_cast<int>(event.flow_info.type),
                    event.flow_info.is_start ? 1 : 0));
  }
  // A stack without frames has no call path; the stack of another thread stores its thread id.
  if (event.call_stack &&
      (event.call_stack->empty() || event.call_stack->thread_id != event.thread_id)) {
    add(key::kCallStack, std::to_string(event.call_stack->thread_id));
  }
  if (!event.custom_data.empty()) add(key::kCustomData, hexOf(event.custom_data));
  for (const auto& [name, value] : event.metadata) {
    add(!name.empty() && name[0] == '.' ? "." + name : name, value);
  }
}

void EventAppender::append(const TraceEvent& event) {
  switch (event.type) {
    case EventType::KernelLaunch:
      return appendLaunch(event);
    case EventType::KernelComplete:
      return appendKernel(event);
    case EventType::MemcpyH2D:
      return appendCopy(event, CopyKind::kHostToDevice);
    case EventType::MemcpyD2H:
      return appendCopy(event, CopyKind::kDeviceToHost);
    case EventType::MemcpyD2D:
      return appendCopy(event, CopyKind::kDeviceToDevice);
    case EventType::MemsetDevice:
      return appendFill(event);
    case EventType::StreamSync:
      return appendSync(event, SyncKind::kStreamWait);
    case EventType::DeviceSync:
      return appendSync(event, SyncKind::kDeviceWait);
    case EventType::EventRecord:
      return appendSync(event, SyncKind::kEventRecord);
    case EventType::EventSync:
      return appendSync(event, SyncKind::kEventWait);
    case EventType::MemAlloc:
      return appendMemory(event, MemoryKind::kAlloc);
    case EventType::MemFree:
      return appendMemory(event, MemoryKind::kFree);
    default:
      return appendRange(event);
  }
}

void EventAppender::appendLaunch(const TraceEvent& event) {
  HostCallRow row;
  row.start_ns = static_cast<int64_t>(event.timestamp);
  row.duration_ns = static_cast<int64_t>(event.duration);
  row.thread_id = thread(event.thread_id);
  row.stream_id = stream(event.device_id, event.stream_id);
  row.correlation_id = event.correlation_id;
  row.kind = CallKind::kLaunch;
  row.flags = op_flags::kFromEvent;
  row.subject = text(event.name);
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  if (event.kernel_params && fitsShape(*event.kernel_params)) {
    row.shape_id = shape(*event.kernel_params);
  }
  trace_.host_call.push(row);
  addAttributes(event, TableId::kHostCall, lastRow(trace_.host_call), {.kernel_params = true});
}

void EventAppender::appendKernel(const TraceEvent& event) {
  KernelRow row;
  row.start_ns = static_cast<int64_t>(event.timestamp);
  row.duration_ns = static_cast<int64_t>(event.duration);
  row.name = text(event.name);
  row.thread_id = thread(event.thread_id);
  row.stream_id = stream(event.device_id, event.stream_id);
  row.correlation_id = event.correlation_id;
  row.flags = op_flags::kFromEvent;
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  if (event.kernel_params && fitsShape(*event.kernel_params)) {
    row.shape_id = shape(*event.kernel_params);
  }
  trace_.kernel.push(row);
  addAttributes(event, TableId::kKernel, lastRow(trace_.kernel), {.kernel_params = true});
}

void EventAppender::appendCopy(const TraceEvent& event, CopyKind kind) {
  CopyRow row;
  row.start_ns = static_cast<int64_t>(event.timestamp);
  row.duration_ns = static_cast<int64_t>(event.duration);
  row.kind = kind;
  row.thread_id = thread(event.thread_id);
  row.stream_id = stream(event.device_id, event.stream_id);
  row.correlation_id = event.correlation_id;
  row.flags = op_flags::kFromEvent;
  row.name = text(event.name);
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  if (event.memory_params) {
    row.bytes = event.memory_params->size_bytes;
    row.source = event.memory_params->src_address;
    row.destination = event.memory_params->dst_address;
  }
  trace_.copy.push(row);
  const bool visible = (row.bytes | row.source | row.destination) != 0;
  addAttributes(event, TableId::kCopy, lastRow(trace_.copy), {.memory_params = visible});
}

void EventAppender::appendFill(const TraceEvent& event) {
  FillRow row;
  row.start_ns = static_cast<int64_t>(event.timestamp);
  row.duration_ns = static_cast<int64_t>(event.duration);
  row.thread_id = thread(event.thread_id);
  row.stream_id = stream(event.device_id, event.stream_id);
  row.correlation_id = event.correlation_id;
  row.flags = op_flags::kFromEvent;
  row.name = text(event.name);
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  if (event.memory_params) {
    row.bytes = event.memory_params->size_bytes;
    row.destination = event.memory_params->dst_address;
  }
  trace_.fill.push(row);
  const bool visible = (row.bytes | row.destination) != 0 && event.memory_params->src_address == 0;
  addAttributes(event, TableId::kFill, lastRow(trace_.fill), {.memory_params = visible});
}

void EventAppender::appendSync(const TraceEvent& event, SyncKind kind) {
  SyncRow row;
  row.start_ns = static_cast<int64_t>(event.timestamp);
  row.duration_ns = static_cast<int64_t>(event.duration);
  row.kind = kind;
  row.thread_id = thread(event.thread_id);
  row.stream_id = stream(event.device_id, event.stream_id);
  row.correlation_id = event.correlation_id;
  row.flags = op_flags::kHostSide | op_flags::kFromEvent;
  row.name = text(event.name);
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  trace_.sync.push(row);
  addAttributes(event, TableId::kSync, lastRow(trace_.sync), {});
}

void EventAppender::appendMemory(const TraceEvent& event, MemoryKind kind) {
  MemoryEventRow row;
  row.time_ns = static_cast<int64_t>(event.timestamp);
  row.kind = kind;
  row.thread_id = thread(event.thread_id);
  if (event.device_id != kHostMemory) {
    row.device_id = device(event.device_id);
    row.context_id = contexts_[event.device_id];
  }
  row.correlation_id = event.correlation_id;
  row.name = text(event.name);
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  if (event.memory_params) {
    row.address = event.memory_params->dst_address;
    row.bytes = event.memory_params->size_bytes;
  }
  trace_.memory_event.push(row);
  const bool visible = (row.address | row.bytes) != 0 && event.memory_params->src_address == 0;
  addAttributes(event, TableId::kMemoryEvent, lastRow(trace_.memory_event),
                {.memory_params = visible, .stream = false, .duration = false});
}

void EventAppender::appendRange(const TraceEvent& event) {
  RangeRow row;
  row.start_ns = static_cast<int64_t>(event.timestamp);
  row.duration_ns = static_cast<int64_t>(event.duration);
  row.kind = event.type == EventType::RangeStart ? RangeKind::kBegin
             : event.type == EventType::RangeEnd ? RangeKind::kEnd
             : event.duration != 0               ? RangeKind::kRange
                                                 : RangeKind::kInstant;
  row.name = text(event.name);
  row.thread_id = thread(event.thread_id);
  row.stream_id = stream(event.device_id, event.stream_id);
  row.correlation_id = event.correlation_id;
  row.event_type = static_cast<uint32_t>(event.type);
  if (event.call_stack) row.call_path_id = callPath(*event.call_stack);
  trace_.range.push(row);
  addAttributes(event, TableId::kRange, lastRow(trace_.range),
                {.type = event.type != EventType::Unknown});  // 0 reads as "not from an event"
}

CounterTrackId EventAppender::counterTrack(std::string_view name, std::string_view unit,
                                           uint32_t device_number) {
  auto [it, fresh] = tracks_.try_emplace({std::string(name), {std::string(unit), device_number}});
  if (fresh) {
    trace_.counter_track.push(
        {.name = text(name),
         .unit = text(unit),
         .device_id = device_number == kNoDevice ? DeviceId::kNone : device(device_number)});
    it->second = idAt<CounterTrackId>(lastRow(trace_.counter_track));
  }
  return it->second;
}

CounterTrackId EventAppender::counterTrack(std::string_view name, std::string_view unit) {
  return counterTrack(name, unit, kNoDevice);
}

void EventAppender::append(const CounterEvent& event) {
  const CounterTrackId track = counterTrack(event.counter_name, event.unit, event.device_id);
  trace_.counter.push(
      {.time_ns = static_cast<int64_t>(event.timestamp), .track_id = track, .value = event.value});
}

ThreadId EventAppender::addThread(ProcessId process, uint32_t tid, std::string_view name) {
  const auto id = static_cast<ThreadId>(next_thread_++);
  threads_[tid] = id;
  trace_.thread.push({.id = id, .process_id = process, .tid = tid, .name = text(name)});
  return id;
}

void EventAppender::setDevice(const DeviceInfo& info) {
  DeviceRow row;
  row.id = device(info.device_id);
  DeviceTable& table = trace_.device;
  const auto at = std::find(table.id.begin(), table.id.end(), row.id);
  const auto place = static_cast<size_t>(at - table.id.begin());
  if (at != table.id.end()) row = table.row(place);
  row.ordinal = info.device_id;
  row.name = text(info.name);
  row.vendor = text(info.vendor);
  row.compute_major = info.compute_major;
  row.compute_minor = info.compute_minor;
  row.memory_bytes = info.total_memory;
  row.memory_clock_mhz = info.memory_clock_rate;
  row.memory_bus_bits = info.memory_bus_width;
  row.compute_units = info.multiprocessor_count;
  row.max_threads_per_unit = info.max_threads_per_mp;
  row.clock_mhz = info.clock_rate;
  row.warp_size = info.warp_size;
  if (at != table.id.end()) {
    table.set(place, row);
  } else {
    table.push(row);  // already written: the later row replaces it
  }
}

void EventAppender::setMetadata(const TraceMetadata& metadata) {
  auto set = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) trace_.setMetadata(key, value);
  };
  auto setNumber = [&](std::string_view key, uint64_t value) {
    if (value != 0) trace_.setMetadata(key, std::to_string(value));
  };
  set("application_name", metadata.application_name);
  set("command_line", metadata.command_line);
  set("hostname", metadata.hostname);
  setNumber("start_time", metadata.start_time);
  setNumber("end_time", metadata.end_time);
  setNumber("process_id", metadata.process_id);
  for (const DeviceInfo& info : metadata.devices) setDevice(info);
}

size_t EventAppender::append(std::span<const TraceEvent> events) {
  size_t i = 0;
  while (i < events.size() && !isCancelledAt(i)) append(events[i++]);
  return i;
}

void appendEvents(Trace& trace, std::span<const TraceEvent> events) {
  EventAppender(trace).append(events);
}

}  // namespace tracesmith
