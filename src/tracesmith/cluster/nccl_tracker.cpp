// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/nccl_tracker.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tracesmith/capture/launch/nccl_plugin.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/protocol/nccl_listener.hpp"
#include "tracesmith/capture/protocol/nccl_records.hpp"
#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {
namespace {

constexpr const char* kNcclPlugin = "libtracesmith-nccl.so";

std::string_view nameIn(const char (&name)[arena::kNcclNameBytes]) {
  return {name, strnlen(name, sizeof name)};
}

NCCLOpType typeOf(std::string_view function) {
  constexpr std::pair<std::string_view, NCCLOpType> kTypes[] = {
      {"AllReduce", NCCLOpType::AllReduce},
      {"AllGather", NCCLOpType::AllGather},
      {"ReduceScatter", NCCLOpType::ReduceScatter},
      {"Broadcast", NCCLOpType::Broadcast},
      {"Reduce", NCCLOpType::Reduce},
      {"AlltoAll", NCCLOpType::AllToAll},
      {"Send", NCCLOpType::Send},
      {"Recv", NCCLOpType::Recv}};
  for (const auto& [name, type] : kTypes) {
    if (name == function) return type;
  }
  return NCCLOpType::Unknown;
}

std::optional<NCCLDataType> dataTypeOf(std::string_view name) {
  constexpr std::pair<std::string_view, NCCLDataType> kTypes[] = {
      {"ncclInt8", NCCLDataType::Int8},       {"ncclUint8", NCCLDataType::Uint8},
      {"ncclInt32", NCCLDataType::Int32},     {"ncclUint32", NCCLDataType::Uint32},
      {"ncclInt64", NCCLDataType::Int64},     {"ncclUint64", NCCLDataType::Uint64},
      {"ncclFloat16", NCCLDataType::Float16}, {"ncclFloat32", NCCLDataType::Float32},
      {"ncclFloat64", NCCLDataType::Float64}, {"ncclBfloat16", NCCLDataType::BFloat16}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

/// The operation of a kernel; Unknown: of any.
NCCLOpType typeOfKernel(std::string_view name) {
  switch (collectiveOf(name)) {
    case CollectiveOp::kAllReduce:
      return NCCLOpType::AllReduce;
    case CollectiveOp::kAllGather:
      return NCCLOpType::AllGather;
    case CollectiveOp::kReduceScatter:
      return NCCLOpType::ReduceScatter;
    case CollectiveOp::kBroadcast:
      return NCCLOpType::Broadcast;
    case CollectiveOp::kReduce:
      return NCCLOpType::Reduce;
    case CollectiveOp::kAllToAll:
      return NCCLOpType::AllToAll;
    default:
      return NCCLOpType::Unknown;
  }
}

/// The tracker that the plugin tells, and a lock for taking turns.
std::mutex g_hooks_mutex;
void* g_hooked = nullptr;

}  // namespace

struct NCCLTracker::Impl {
  /// What the plugin says of a communicator.
  struct Communicator {
    uint64_t key = 0;
    int32_t rank = 0;
    uint32_t ranks = 0;
  };
  struct Tracked {
    NCCLOperation operation;
    uint32_t channels = 0, ended = 0;   // channels whose ends are told
    uint64_t event = 0;                 // the plugin's id; 0: the caller's own operation
    std::vector<uint64_t> of_channels;  // the plugin's ids of its channels
  };

  explicit Impl(NCCLTrackerConfig c) : config(std::move(c)) {
    config.max_operations = std::max<size_t>(1, config.max_operations);
  }

  bool wants(uint64_t comm_id) const {
    return config.track_all_comms || config.comm_filter.count(comm_id) != 0;
  }

  uint64_t add(Tracked tracked) {
    const uint64_t id = ++last_id;
    tracked.operation.op_id = id;
    operations.emplace(id, std::move(tracked));
    while (operations.size() > config.max_operations) {
      forgetEvents(operations.begin()->second);
      operations.erase(operations.begin());
    }
    return id;
  }

  /// Nothing more is told of it.
  void forgetEvents(Tracked& tracked) {
    by_event.erase(tracked.event);
    for (const uint64_t channel : tracked.of_channels) of_channel.erase(channel);
    tracked.of_channels = {};
  }

  void end(uint64_t id, Timestamp time, std::vector<NCCLOperation>& ended) {
    const auto found = operations.find(id);
    if (found == operations.end()) return;
    NCCLOperation& o = found->second.operation;
    o.end_time = std::max(time, o.start_time);
    o.duration_ns = o.end_time - o.start_time;
    o.completed = true;
    ended.push_back(o);
    forgetEvents(found->second);
  }

  /// From the plugin. The callback is called without the lock.
  void take(const uint8_t* bytes, size_t size) {
    std::vector<NCCLOperation> ended;
    OperationCallback call;
    {
      const std::lock_guard lock(mutex);
      takeRecord(bytes, size, ended);
      call = callback;
    }
    if (!call) return;
    for (const NCCLOperation& operation : ended) call(operation);
  }

  void takeRecord(const uint8_t* bytes, size_t size, std::vector<NCCLOperation>& ended) {
    arena::RecordHeader header;
    std::memcpy(&header, bytes, sizeof header);
    const auto event = static_cast<arena::NcclEvent>(header.flags);
    if (header.kind == arena::RecordKind::kNcclCommunicator) {
      arena::NcclCommunicatorRecord r;
      if (size < sizeof r) return;
      std::memcpy(&r, bytes, sizeof r);
      if ((header.flags & 1) == 0) communicators[header.aux] = {r.key, r.rank, r.ranks};
      return;
    }
    if (header.kind == arena::RecordKind::kNcclStart) {
      arena::NcclStartRecord start;
      if (size < sizeof start) return;
      std::memcpy(&start, bytes, sizeof start);
      if (event == arena::NcclEvent::kKernelChannel) {
        const auto id = by_event.find(start.parent);
        if (id == by_event.end()) return;
        of_channel[start.id] = id->second;
        operations.at(id->second).of_channels.push_back(start.id);
      } else if (size >= sizeof start + sizeof(arena::NcclTransferPart)) {
        arena::NcclTransferPart part;
        std::memcpy(&part, bytes + sizeof start, sizeof part);
        startOperation(start, part);
      }
      return;
    }
    if (header.kind != arena::RecordKind::kNcclStop) return;
    arena::NcclStopRecord stop;
    if (size < sizeof stop) return;
    std::memcpy(&stop, bytes, sizeof stop);
    if (event == arena::NcclEvent::kKernelChannel) {
      endChannel(stop, ended);
    } else if (const auto id = by_event.find(stop.id); id != by_event.end()) {
      // Without channels nobody says when it is done: when it was enqueued is the last that is
      // known.
      if (operations.at(id->second).channels == 0) {
        end(id->second, static_cast<Timestamp>(stop.time), ended);
      }
    }
  }

  void startOperation(const arena::NcclStartRecord& start, const arena::NcclTransferPart& part) {
    const Communicator& communicator = communicators[start.header.aux];
    if (!capturing || !wants(communicator.key)) return;
    Tracked tracked;
    tracked.channels = part.has_channel_events != 0 ? part.channels : 0;
    tracked.event = start.id;
    NCCLOperation& o = tracked.operation;
    o.op_type = typeOf(nameIn(part.function));
    o.data_type = dataTypeOf(nameIn(part.data_type)).value_or(NCCLDataType::Int8);
    o.comm_id = communicator.key;
    o.rank = static_cast<uint32_t>(std::max(0, communicator.rank));
    o.world_size = std::max<uint32_t>(1, communicator.ranks);
    o.count = part.element_count;
    o.data_size = o.count * ncclDataTypeSize(o.data_type);
    if (o.op_type == NCCLOpType::AllToAll) o.data_size *= o.world_size;
    o.start_time = static_cast<Timestamp>(start.time);
    const bool has_peer = o.op_type == NCCLOpType::Send || o.op_type == NCCLOpType::Recv ||
                          o.op_type == NCCLOpType::Broadcast || o.op_type == NCCLOpType::Reduce;
    o.peer_rank = has_peer ? part.peer : -1;
    by_event[start.id] = add(std::move(tracked));
  }

  void endChannel(const arena::NcclStopRecord& stop, std::vector<NCCLOperation>& ended) {
    const auto channel = of_channel.find(stop.id);
    if (channel == of_channel.end()) return;
    const uint64_t id = channel->second;
    of_channel.erase(channel);
    const auto o = operations.find(id);
    if (o == operations.end() || ++o->second.ended < o->second.channels) return;
    end(id, static_cast<Timestamp>(stop.time), ended);
  }

  NCCLTrackerConfig config;
  mutable std::mutex mutex;
  std::map<uint64_t, Tracked> operations;  // by op_id
  uint64_t last_id = 0;
  bool capturing = false;
  bool hooked = false;
  OperationCallback callback;
  std::unordered_map<uint32_t, Communicator> communicators;     // by the plugin's number
  std::unordered_map<uint64_t, uint64_t> by_event, of_channel;  // the plugin's ids to op_id
  std::optional<std::string> plugin_before;                     // NCCL_PROFILER_PLUGIN
  NcclListen listen = nullptr;
};

NCCLTracker::NCCLTracker(NCCLTrackerConfig config)
    : impl_(std::make_unique<Impl>(std::move(config))) {}

NCCLTracker::~NCCLTracker() { removeHooks(); }

bool NCCLTracker::installHooks() {
  const std::lock_guard lock(g_hooks_mutex);
  if (g_hooked == impl_.get()) return true;
  if (g_hooked != nullptr) return false;
  const Result<std::string> plugin = findAgentLibrary(kNcclPlugin);
  if (!plugin) return false;
  void* const library = dlopen(plugin->c_str(), RTLD_NOW | RTLD_LOCAL);  // it is never unloaded
  if (library == nullptr) return false;
  impl_->listen = reinterpret_cast<NcclListen>(dlsym(library, kNcclListen));
  if (impl_->listen == nullptr) return false;
  Environment variables;
  if (!addNcclPlugin(variables)) return false;
  const char* const before = getenv("NCCL_PROFILER_PLUGIN");
  impl_->plugin_before = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  impl_->listen(
      [](void* context, const void* record, size_t bytes) {
        static_cast<Impl*>(context)->take(static_cast<const uint8_t*>(record), bytes);
      },
      impl_.get());
  impl_->hooked = true;
  g_hooked = impl_.get();
  return true;
}

void NCCLTracker::removeHooks() {
  const std::lock_guard lock(g_hooks_mutex);
  if (g_hooked != impl_.get()) return;
  impl_->listen(nullptr, nullptr);
  if (impl_->plugin_before) {
    setenv("NCCL_PROFILER_PLUGIN", impl_->plugin_before->c_str(), 1);
  } else {
    unsetenv("NCCL_PROFILER_PLUGIN");
  }
  impl_->hooked = false;
  g_hooked = nullptr;
}

bool NCCLTracker::isHooked() const {
  const std::lock_guard lock(g_hooks_mutex);
  return impl_->hooked;
}

bool NCCLTracker::startCapture() {
  if (impl_->config.hook_enabled && !installHooks()) return false;
  const std::lock_guard lock(impl_->mutex);
  impl_->capturing = true;
  return true;
}

bool NCCLTracker::stopCapture() {
  const std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->capturing, false);
}

bool NCCLTracker::isCapturing() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->capturing;
}

void NCCLTracker::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->operations.clear();
  impl_->by_event.clear();
  impl_->of_channel.clear();
}

uint64_t NCCLTracker::recordOperationStart(NCCLOperation operation) {
  const std::lock_guard lock(impl_->mutex);
  if (operation.start_time == 0) operation.start_time = getCurrentTimestamp();
  operation.completed = false;
  return impl_->add({.operation = operation});
}

bool NCCLTracker::recordOperationEnd(uint64_t op_id, Timestamp end_time) {
  std::vector<NCCLOperation> ended;
  OperationCallback call;
  {
    const std::lock_guard lock(impl_->mutex);
    const auto found = impl_->operations.find(op_id);
    if (found == impl_->operations.end() || found->second.operation.completed) return false;
    impl_->end(op_id, end_time == 0 ? getCurrentTimestamp() : end_time, ended);
    call = impl_->callback;
  }
  if (call) call(ended.front());
  return true;
}

std::vector<NCCLOperation> NCCLTracker::getOperations() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<NCCLOperation> all;
  for (const auto& [id, tracked] : impl_->operations) all.push_back(tracked.operation);
  return all;
}

std::vector<NCCLOperation> NCCLTracker::getOperationsByType(NCCLOpType type) const {
  std::vector<NCCLOperation> all = getOperations();
  std::erase_if(all, [&](const NCCLOperation& o) { return o.op_type != type; });
  return all;
}

std::vector<NCCLOperation> NCCLTracker::getOperationsByComm(uint64_t comm_id) const {
  std::vector<NCCLOperation> all = getOperations();
  std::erase_if(all, [&](const NCCLOperation& o) { return o.comm_id != comm_id; });
  return all;
}

NCCLOperation NCCLTracker::getOperation(uint64_t op_id) const {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->operations.find(op_id);
  return found == impl_->operations.end() ? NCCLOperation() : found->second.operation;
}

std::vector<TraceEvent> NCCLTracker::toTraceEvents() const {
  std::vector<TraceEvent> events;
  for (const NCCLOperation& o : getOperations()) {
    TraceEvent event(EventType::NCCLStart, o.start_time);
    event.name = "nccl" + std::string(ncclOpTypeToString(o.op_type));
    event.correlation_id = o.correlation_id;
    event.metadata = {{"bytes", std::to_string(o.data_size)},
                      {"count", std::to_string(o.count)},
                      {"data_type", std::string(ncclDataTypeToString(o.data_type))},
                      {"communicator", std::to_string(o.comm_id)},
                      {"rank", std::to_string(o.rank)},
                      {"ranks", std::to_string(o.world_size)}};
    if (o.peer_rank >= 0) event.metadata["peer"] = std::to_string(o.peer_rank);
    events.push_back(event);
    if (!o.completed) continue;
    event.type = EventType::NCCLComplete;
    event.timestamp = o.end_time;
    event.duration = o.duration_ns;
    events.push_back(std::move(event));
  }
  return events;
}

size_t NCCLTracker::correlateWithGPUEvents(const std::vector<TraceEvent>& events) {
  struct Kernel {
    Timestamp begin, end;
    uint64_t correlation_id;
    NCCLOpType type;  // Unknown: of any
  };
  std::vector<Kernel> kernels;
  for (const TraceEvent& event : events) {
    if (event.duration == 0 || !isCollectiveKernel(event.name)) continue;
    kernels.push_back({event.timestamp, event.timestamp + event.duration, event.correlation_id,
                       typeOfKernel(event.name)});
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const Kernel& a, const Kernel& b) { return a.end < b.end; });
  const std::lock_guard lock(impl_->mutex);
  size_t correlated = 0;
  for (auto& [id, tracked] : impl_->operations) {
    NCCLOperation& o = tracked.operation;
    // A thread of NCCL notices the end soon after the kernel's: the last kernel before it.
    auto at =
        std::upper_bound(kernels.begin(), kernels.end(), o.end_time,
                         [](Timestamp time, const Kernel& kernel) { return time < kernel.end; });
    while (o.completed && at != kernels.begin()) {
      const Kernel& kernel = *--at;
      if (kernel.end < o.start_time) break;
      if (kernel.begin < o.start_time) continue;
      if (kernel.type != NCCLOpType::Unknown && kernel.type != o.op_type) continue;
      o.correlation_id = kernel.correlation_id;
      break;
    }
    correlated += o.correlation_id != 0 ? 1 : 0;
  }
  return correlated;
}

NCCLTracker::Statistics NCCLTracker::getStatistics() const {
  Statistics statistics;
  for (const NCCLOperation& o : getOperations()) {
    ++statistics.total_operations;
    statistics.total_bytes_transferred += o.data_size;
    statistics.total_duration_ns += o.duration_ns;
    ++statistics.ops_by_type[o.op_type];
    statistics.bytes_by_type[o.op_type] += o.data_size;
    statistics.duration_by_type[o.op_type] += o.duration_ns;
  }
  return statistics;
}

void NCCLTracker::setOperationCallback(OperationCallback callback) {
  const std::lock_guard lock(impl_->mutex);
  impl_->callback = std::move(callback);
}

bool isNCCLAvailable() { return findAgentLibrary(kNcclPlugin).has_value(); }

}  // namespace tracesmith
