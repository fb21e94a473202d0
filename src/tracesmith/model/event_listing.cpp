// SPDX-License-Identifier: Apache-2.0
// toEvents(): the rows of every table as TraceEvents.
#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>
#include <unordered_map>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/model/event_appender.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/live_memory.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {
namespace {

/// The decimal numbers of `text`, up to N; missing ones are 0.
template <size_t N>
std::array<uint64_t, N> numbersIn(std::string_view text) {
  std::array<uint64_t, N> numbers{};
  const char* p = text.data();
  const char* const end = p + text.size();
  for (uint64_t& number : numbers) {
    while (p != end && *p == ' ') ++p;
    p = std::from_chars(p, end, number).ptr;
  }
  return numbers;
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::vector<uint8_t> bytesOfHex(std::string_view text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hexDigit(text[i]);
    const int low = hexDigit(text[i + 1]);
    if (high < 0 || low < 0) break;
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return bytes;
}

uint32_t saturate32(uint64_t v) { return static_cast<uint32_t>(std::min<uint64_t>(v, ~0u)); }

FlowType flowTypeOf(FlowKind kind) {
  switch (kind) {
    case FlowKind::kFwdBwd:
      return FlowType::FwdBwd;
    case FlowKind::kAsyncCpuGpu:
      return FlowType::AsyncCpuGpu;
    default:
      return FlowType::Custom;
  }
}

/// Identifies a piece of work: a correlation id is unique only within a process.
struct WorkKey {
  ProcessId process;
  uint64_t correlation;
  bool operator==(const WorkKey&) const = default;
};
struct HashWorkKey {
  size_t operator()(const WorkKey& key) const {
    return key.correlation ^ (static_cast<uint64_t>(key.process) * 0x9e3779b97f4a7c15ull);
  }
};
template <class Value>
using ByWork = std::unordered_map<WorkKey, Value, HashWorkKey>;

class Lister {
 public:
  explicit Lister(const Trace& trace);
  std::vector<TraceEvent> list();

 private:
  /// Fills the fields common to all tables.
  template <class Table>
  TraceEvent& begin(EventType type, const Table& table, size_t row, int64_t start,
                    int64_t duration);
  void place(TraceEvent& event, StreamId stream) const;
  void placeOnDevice(TraceEvent& event, DeviceId device) const;
  void addDevice(TraceEvent& event, const char* key, DeviceId device) const;
  void addStack(TraceEvent& event, CallPathId path) const;
  void addShape(TraceEvent& event, ShapeId shape) const;
  void addFlow(TraceEvent& event, ProcessId process) const;
  template <class Table>
  void addDeviceFacts(TraceEvent& event, const Table& table, size_t row) const;
  void nameByCall(TraceEvent& event, ProcessId process) const;
  void addAttributes(TraceEvent& event, TableId table, uint64_t row);

  void listHostCalls();
  void listKernels();
  void listCopies();
  void listFills();
  void listSyncs();
  void listMemory();
  void listRanges();
  void listBuilds();
  void listStreamsAndContexts();

  const Trace& trace_;
  const FrameSymbols symbols_;
  std::vector<TraceEvent> events_;
  std::vector<uint32_t> devices_;
  std::vector<uint32_t> streams_;
  bool many_processes_ = false;
  ByWork<size_t> kernel_of_;                 // first kernel row of a piece of work
  ByWork<size_t> call_of_;                   // its host call row
  ByWork<std::pair<size_t, bool>> flow_of_;  // row, and whether it starts
  std::vector<size_t> attributes_;           // rows, by (table, row number)
};

Lister::Lister(const Trace& trace)
    : trace_(trace),
      symbols_(trace),
      devices_(deviceNumbers(trace)),
      streams_(streamNumbers(trace)) {
  std::set<ProcessId> processes(trace.host_call.process_id.begin(),
                                trace.host_call.process_id.end());
  processes.insert(trace.kernel.process_id.begin(), trace.kernel.process_id.end());
  processes.insert(trace.memory_event.process_id.begin(), trace.memory_event.process_id.end());
  many_processes_ = processes.size() > 1;
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    kernel_of_.try_emplace(WorkKey{trace.kernel.process_id[i], trace.kernel.correlation_id[i]}, i);
  }
  for (size_t i = 0; i < trace.host_call.size(); ++i) {
    call_of_.try_emplace(WorkKey{trace.host_call.process_id[i], trace.host_call.correlation_id[i]},
                         i);
  }
  for (size_t i = 0; i < trace.flow.size(); ++i) {
    const FlowRow row = trace.flow.row(i);
    const ProcessId to = row.to_process_id == ProcessId::kNone ? row.process_id : row.to_process_id;
    flow_of_.try_emplace(WorkKey{row.process_id, row.from_correlation_id}, i, true);
    flow_of_.try_emplace(WorkKey{to, row.to_correlation_id}, i, false);
  }
  attributes_.resize(trace.attribute.size());
  std::iota(attributes_.begin(), attributes_.end(), size_t{0});
  std::stable_sort(attributes_.begin(), attributes_.end(), [&](size_t a, size_t b) {
    const AttributeTable& t = trace_.attribute;
    return t.table[a] != t.table[b] ? t.table[a] < t.table[b] : t.row_number[a] < t.row_number[b];
  });
}

void Lister::placeOnDevice(TraceEvent& event, DeviceId device) const {
  const auto i = static_cast<size_t>(device);
  if (i != 0 && i <= devices_.size()) event.device_id = devices_[i - 1];
}

void Lister::addDevice(TraceEvent& event, const char* key, DeviceId device) const {
  const auto i = static_cast<size_t>(device);
  if (i != 0 && i <= devices_.size()) event.metadata[key] = std::to_string(devices_[i - 1]);
}

void Lister::place(TraceEvent& event, StreamId stream) const {
  const auto i = static_cast<size_t>(stream);
  if (i != 0 && i <= streams_.size()) event.stream_id = streams_[i - 1];
  placeOnDevice(event, trace_.deviceOf(stream));
}

template <class Table>
TraceEvent& Lister::begin(EventType type, const Table& table, size_t row, int64_t start,
                          int64_t duration) {
  TraceEvent& event = events_.emplace_back(type, static_cast<Timestamp>(start));
  event.duration = static_cast<Timestamp>(duration);
  event.correlation_id = table.correlation_id[row];
  const auto thread = static_cast<size_t>(table.thread_id[row]);
  if (thread != 0 && thread <= trace_.thread.size())
    event.thread_id = trace_.thread.tid[thread - 1];
  const auto process = static_cast<size_t>(table.process_id[row]);
  if (many_processes_ && process != 0 && process <= trace_.process.size()) {
    event.metadata["process_id"] = std::to_string(trace_.process.pid[process - 1]);
  }
  return event;
}

void Lister::addStack(TraceEvent& event, CallPathId path) const {
  const CallPathTable& paths = trace_.call_path;
  auto i = static_cast<size_t>(path);
  if (i == 0 || i > paths.size()) return;
  CallStack stack;
  stack.thread_id = event.thread_id;
  std::vector<FrameFunction> functions;
  while (i != 0 && i <= paths.size()) {
    const FrameId frame = paths.frame[i - 1];
    symbols_.functions(frame, functions);
    const uint64_t address = functions.empty() ? 0 : trace_.frame.address[indexOf(frame)];
    const std::string module(functions.empty() ? ""
                                               : trace_.text(trace_.frame.module[indexOf(frame)]));
    // Inlined functions become frames of their own, as in a debugger.
    for (const FrameFunction& f : functions) {
      stack.frames.push_back(
          {address, std::string(f.function), std::string(f.file), f.line, module});
    }
    if (functions.empty()) stack.frames.emplace_back();
    // A path comes after its parent; anything else is damage and could form a cycle.
    const auto parent = static_cast<size_t>(paths.parent[i - 1]);
    i = parent < i ? parent : 0;
  }
  event.call_stack = std::move(stack);
}

void Lister::addShape(TraceEvent& event, ShapeId shape) const {
  const auto i = static_cast<size_t>(shape);
  if (i == 0 || i > trace_.launch_shape.size()) return;
  const LaunchShapeRow row = trace_.launch_shape.row(i - 1);
  auto groups = [](uint64_t global, uint32_t local) {
    const uint64_t of = local == 0 ? 1 : local;
    return saturate32(global / of + (global % of != 0 ? 1 : 0));
  };
  KernelParams params;
  params.grid_x = groups(row.global_x, row.local_x);
  params.grid_y = groups(row.global_y, row.local_y);
  params.grid_z = groups(row.global_z, row.local_z);
  params.block_x = row.local_x;
  params.block_y = row.local_y;
  params.block_z = row.local_z;
  params.shared_mem_bytes =
      saturate32(uint64_t{row.static_shared_bytes} + row.dynamic_shared_bytes);
  params.registers_per_thread = row.registers_per_thread;
  event.kernel_params = params;
}

void Lister::addFlow(TraceEvent& event, ProcessId process) const {
  if (event.correlation_id == 0) return;
  const auto found = flow_of_.find(WorkKey{process, event.correlation_id});
  if (found == flow_of_.end()) return;
  const auto [row, starts] = found->second;
  const uint64_t id = trace_.flow.flow_id[row];
  event.flow_info = {id != 0 ? id : row + 1, flowTypeOf(trace_.flow.kind[row]), starts};
}

void Lister::nameByCall(TraceEvent& event, ProcessId process) const {
  if (!event.name.empty()) return;
  event.name = eventTypeToString(event.type);
  if (event.correlation_id == 0) return;
  const auto call = call_of_.find(WorkKey{process, event.correlation_id});
  if (call == call_of_.end()) return;
  const std::string_view api = trace_.text(trace_.host_call.name[call->second]);
  if (!api.empty()) event.name = api;
}

template <class Table>
void Lister::addDeviceFacts(TraceEvent& event, const Table& table, size_t row) const {
  const uint32_t flags = table.flags[row];
  if ((flags & op_flags::kQueueTimes) != 0) {
    event.metadata["queued_before_ns"] = std::to_string(table.queued_before_ns[row]);
    event.metadata["submitted_before_ns"] = std::to_string(table.submitted_before_ns[row]);
  }
  if ((flags & op_flags::kFirstLaunch) != 0) event.metadata["first_launch"] = "1";
  if ((flags & op_flags::kNoDeviceTime) != 0) event.metadata["no_device_time"] = "1";
  if ((flags & op_flags::kSynthetic) != 0) event.metadata["synthetic"] = "1";
  if (table.status[row] != 0) event.metadata["status"] = std::to_string(table.status[row]);
}

void Lister::addAttributes(TraceEvent& event, TableId table, uint64_t row) {
  const AttributeTable& rows = trace_.attribute;
  const auto number = static_cast<uint32_t>(table);
  auto at =
      std::lower_bound(attributes_.begin(), attributes_.end(), row, [&](size_t i, uint64_t wanted) {
        return rows.table[i] != number ? rows.table[i] < number : rows.row_number[i] < wanted;
      });
  for (; at != attributes_.end() && rows.table[*at] == number && rows.row_number[*at] == row;
       ++at) {
    namespace name = event_attributes;
    const std::string_view key = trace_.text(rows.key[*at]);
    const std::string_view value = trace_.text(rows.value[*at]);
    if (key.empty() || key[0] != '.') {
      event.metadata[std::string(key)] = value;
    } else if (key.size() > 1 && key[1] == '.') {
      event.metadata[std::string(key.substr(1))] = value;
    } else if (key == name::kType) {
      event.type = eventTypeFromString(value).value_or(event.type);
    } else if (key == name::kStream) {
      event.stream_id = saturate32(numbersIn<1>(value)[0]);
    } else if (key == name::kDuration) {
      event.duration = numbersIn<1>(value)[0];
    } else if (key == name::kKernelParams) {
      const auto n = numbersIn<8>(value);
      event.kernel_params = {saturate32(n[0]), saturate32(n[1]), saturate32(n[2]),
                             saturate32(n[3]), saturate32(n[4]), saturate32(n[5]),
                             saturate32(n[6]), saturate32(n[7])};
    } else if (key == name::kMemoryParams) {
      const auto n = numbersIn<3>(value);
      event.memory_params = {n[0], n[1], n[2]};
    } else if (key == name::kFlow) {
      const auto n = numbersIn<3>(value);
      event.flow_info = {n[0], static_cast<FlowType>(std::min<uint64_t>(n[1], 3)), n[2] != 0};
    } else if (key == name::kCallStack) {
      if (!event.call_stack) event.call_stack.emplace();
      event.call_stack->thread_id = numbersIn<1>(value)[0];
    } else if (key == name::kCustomData) {
      event.custom_data = bytesOfHex(value);
    }
  }
}

void Lister::listHostCalls() {
  const HostCallTable& t = trace_.host_call;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    if (t.kind[i] != CallKind::kLaunch) continue;  // copies and others are listed by their own rows
    TraceEvent& event = begin(EventType::KernelLaunch, t, i, t.start_ns[i], t.duration_ns[i]);
    place(event, t.stream_id[i]);
    addStack(event, t.call_path_id[i]);
    addShape(event, t.shape_id[i]);
    event.name = trace_.text(t.subject[i]);
    if ((t.flags[i] & op_flags::kFromEvent) == 0) {
      const auto kernel = kernel_of_.find(WorkKey{t.process_id[i], t.correlation_id[i]});
      if (event.correlation_id != 0 && kernel != kernel_of_.end()) {
        const KernelRow row = trace_.kernel.row(kernel->second);
        if (event.name.empty()) event.name = trace_.text(row.name);
        if (!event.kernel_params) addShape(event, row.shape_id);
      }
      const std::string_view api = trace_.text(t.name[i]);
      if (event.name.empty()) event.name = api;
      if (!api.empty()) event.metadata["api"] = api;
      if (t.result[i] != 0) event.metadata["result"] = std::to_string(t.result[i]);
    }
    addAttributes(event, TableId::kHostCall, i);
  }
}

void Lister::listKernels() {
  const KernelTable& t = trace_.kernel;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    TraceEvent& event = begin(EventType::KernelComplete, t, i, t.start_ns[i], t.duration_ns[i]);
    place(event, t.stream_id[i]);
    addStack(event, t.call_path_id[i]);
    addShape(event, t.shape_id[i]);
    event.name = trace_.text(t.name[i]);
    if ((t.flags[i] & op_flags::kFromEvent) == 0) {
      addFlow(event, t.process_id[i]);
      addDeviceFacts(event, t, i);
      const std::string_view arguments = trace_.text(t.arguments[i]);
      if (!arguments.empty()) event.metadata["arguments"] = arguments;
    }
    addAttributes(event, TableId::kKernel, i);
  }
}

void Lister::listCopies() {
  const CopyTable& t = trace_.copy;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    EventType type = EventType::Custom;  // other kinds have no event type
    switch (t.kind[i]) {
      case CopyKind::kHostToDevice:
      case CopyKind::kUnmap:
        type = EventType::MemcpyH2D;
        break;
      case CopyKind::kDeviceToHost:
      case CopyKind::kMap:
        type = EventType::MemcpyD2H;
        break;
      case CopyKind::kDeviceToDevice:
      case CopyKind::kPeerToPeer:
        type = EventType::MemcpyD2D;
        break;
      default:
        break;
    }
    TraceEvent& event = begin(type, t, i, t.start_ns[i], t.duration_ns[i]);
    place(event, t.stream_id[i]);
    addStack(event, t.call_path_id[i]);
    event.name = trace_.text(t.name[i]);
    if ((t.bytes[i] | t.source[i] | t.destination[i]) != 0) {
      event.memory_params = {t.source[i], t.destination[i], t.bytes[i]};
    }
    if ((t.flags[i] & op_flags::kFromEvent) == 0) {
      nameByCall(event, t.process_id[i]);
      addFlow(event, t.process_id[i]);
      addDeviceFacts(event, t, i);
      event.metadata["copy_kind"] = toString(t.kind[i]);
      addDevice(event, "source_device", t.source_device_id[i]);
      addDevice(event, "destination_device", t.destination_device_id[i]);
    }
    addAttributes(event, TableId::kCopy, i);
  }
}

void Lister::listFills() {
  const FillTable& t = trace_.fill;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    TraceEvent& event = begin(EventType::MemsetDevice, t, i, t.start_ns[i], t.duration_ns[i]);
    place(event, t.stream_id[i]);
    addStack(event, t.call_path_id[i]);
    event.name = trace_.text(t.name[i]);
    if ((t.bytes[i] | t.destination[i]) != 0) {
      event.memory_params = {0, t.destination[i], t.bytes[i]};
    }
    if ((t.flags[i] & op_flags::kFromEvent) == 0) {
      nameByCall(event, t.process_id[i]);
      addFlow(event, t.process_id[i]);
      addDeviceFacts(event, t, i);
    }
    addAttributes(event, TableId::kFill, i);
  }
}

void Lister::listSyncs() {
  const SyncTable& t = trace_.sync;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    EventType type = EventType::Marker;
    switch (t.kind[i]) {
      case SyncKind::kStreamWait:
        type = EventType::StreamSync;
        break;
      case SyncKind::kDeviceWait:
        type = EventType::DeviceSync;
        break;
      case SyncKind::kEventWait:
        type = EventType::EventSync;
        break;
      case SyncKind::kEventRecord:
        type = EventType::EventRecord;
        break;
      default:
        break;
    }
    TraceEvent& event = begin(type, t, i, t.start_ns[i], t.duration_ns[i]);
    place(event, t.stream_id[i]);
    addStack(event, t.call_path_id[i]);
    event.name = trace_.text(t.name[i]);
    if ((t.flags[i] & op_flags::kFromEvent) == 0) {
      nameByCall(event, t.process_id[i]);
      addFlow(event, t.process_id[i]);
      addDeviceFacts(event, t, i);
      event.metadata["sync_kind"] = toString(t.kind[i]);
    }
    addAttributes(event, TableId::kSync, i);
  }
}

void Lister::listMemory() {
  const MemoryEventTable& t = trace_.memory_event;
  const std::vector<DeviceId> places = memoryDevices(trace_);
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    const EventType type = t.kind[i] == MemoryKind::kFree    ? EventType::MemFree
                           : t.kind[i] == MemoryKind::kAlloc ? EventType::MemAlloc
                                                             : EventType::Custom;
    TraceEvent& event = begin(type, t, i, t.time_ns[i], 0);
    event.device_id = kHostMemory;
    placeOnDevice(event, places[i]);
    addStack(event, t.call_path_id[i]);
    event.name = trace_.text(t.name[i]);
    if ((t.bytes[i] | t.address[i]) != 0) event.memory_params = {0, t.address[i], t.bytes[i]};
    addAttributes(event, TableId::kMemoryEvent, i);
  }
}

void Lister::listRanges() {
  const RangeTable& t = trace_.range;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    EventType type = static_cast<EventType>(t.event_type[i]);
    if (type == EventType::Unknown || t.event_type[i] > 255) {
      type = t.kind[i] == RangeKind::kEnd       ? EventType::RangeEnd
             : t.kind[i] == RangeKind::kInstant ? EventType::Marker
                                                : EventType::RangeStart;
    }
    TraceEvent& event = begin(type, t, i, t.start_ns[i], t.duration_ns[i]);
    place(event, t.stream_id[i]);
    addStack(event, t.call_path_id[i]);
    event.name = trace_.text(t.name[i]);
    const std::string_view category = trace_.text(t.category[i]);
    if (!category.empty()) event.metadata["category"] = category;
    addAttributes(event, TableId::kRange, i);
  }
}

void Lister::listBuilds() {
  const ProgramBuildTable& t = trace_.program_build;
  for (size_t i = 0; i < t.size() && !isCancelledAt(i); ++i) {
    TraceEvent& event = begin(EventType::Custom, t, i, t.start_ns[i], t.duration_ns[i]);
    const auto context = static_cast<size_t>(t.context_id[i]);
    if (context != 0 && context <= trace_.context.size()) {
      placeOnDevice(event, trace_.context.device_id[context - 1]);
    }
    event.name = "program " + std::string(toString(t.kind[i]));
    event.metadata["result"] = std::to_string(t.result[i]);
    event.metadata["log_bytes"] = std::to_string(t.log_bytes[i]);
    const std::string_view options = trace_.text(t.options[i]);
    if (!options.empty()) event.metadata["options"] = options;
    addAttributes(event, TableId::kProgramBuild, i);
  }
}

void Lister::listStreamsAndContexts() {
  // A time of 0 is unknown, or the object was created from a TraceEvent that has its own row.
  for (size_t i = 0; i < trace_.stream.size(); ++i) {
    const StreamRow row = trace_.stream.row(i);
    auto add = [&](EventType type, int64_t time_ns) {
      if (time_ns == 0) return;
      TraceEvent& event = events_.emplace_back(type, static_cast<Timestamp>(time_ns));
      place(event, idAt<StreamId>(i));
      event.name = trace_.text(row.name);
    };
    add(EventType::StreamCreate, row.created_ns);
    add(EventType::StreamDestroy, row.released_ns);
  }
  for (size_t i = 0; i < trace_.context.size(); ++i) {
    const ContextRow row = trace_.context.row(i);
    auto add = [&](EventType type, int64_t time_ns) {
      if (time_ns == 0) return;
      placeOnDevice(events_.emplace_back(type, static_cast<Timestamp>(time_ns)), row.device_id);
    };
    add(EventType::ContextCreate, row.created_ns);
    add(EventType::ContextDestroy, row.released_ns);
  }
}

std::vector<TraceEvent> Lister::list() {
  listHostCalls();
  listKernels();
  listCopies();
  listFills();
  listSyncs();
  listMemory();
  listRanges();
  listBuilds();
  listStreamsAndContexts();
  if (isCancelled()) return {};
  // Sort indexes, because events are large.
  std::vector<size_t> order(events_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return events_[a].timestamp < events_[b].timestamp; });
  std::vector<TraceEvent> sorted;
  sorted.reserve(order.size());
  for (const size_t i : order) {
    if (isCancelledAt(sorted.size())) break;
    sorted.push_back(std::move(events_[i]));
  }
  return sorted;
}

}  // namespace

std::vector<TraceEvent> toEvents(const Trace& trace) { return Lister(trace).list(); }

}  // namespace tracesmith
