// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/recorded_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/arena_file.hpp"
#include "tracesmith/capture/record_joiner.hpp"

namespace tracesmith {
namespace {

using arena::RecordKind;

// CUPTI delivers late, but not that late.
constexpr size_t kMostCalls = 1u << 20;
constexpr size_t kMostWaiting = 1u << 18;
constexpr int64_t kLongestWaitNs = 5'000'000'000;
constexpr uint32_t kNoStream = ~0u;

/// CUpti_ActivityMemcpyKind. Arrays are device memory.
CopyKind copyKind(uint8_t kind) {
  switch (kind) {
    case 1:
    case 3:
      return CopyKind::kHostToDevice;
    case 2:
    case 4:
      return CopyKind::kDeviceToHost;
    case 5:
    case 6:
    case 7:
    case 8:
      return CopyKind::kDeviceToDevice;
    case 9:
      return CopyKind::kHostToHost;
    case 10:
      return CopyKind::kPeerToPeer;
    default:
      return CopyKind::kUnknown;
  }
}

/// CUpti_ActivitySynchronizationType.
SyncKind syncKind(uint8_t type) {
  switch (type) {
    case 1:
      return SyncKind::kEventWait;
    case 2:
      return SyncKind::kBarrier;  // a stream waits for an event
    case 3:
      return SyncKind::kStreamWait;
    case 4:
      return SyncKind::kDeviceWait;
    default:
      return SyncKind::kUnknown;
  }
}

RecordKind kindOf(ByteView record) { return loadFixed<arena::RecordHeader>(record.data()).kind; }

/// What a record of device work is about; 0 for one that is too short.
struct WorkPlace {
  uint64_t correlation = 0;
  int64_t start = 0;
};

WorkPlace placeOf(ByteView record) {
  const auto at = [&](size_t offset) { return loadFixed<uint64_t>(record.data() + offset); };
  const RecordKind kind = kindOf(record);
  const auto fits = [&](size_t bytes) { return record.size() >= bytes; };
  switch (kind) {
    case RecordKind::kCudaKernel:
      if (!fits(sizeof(arena::CudaKernelRecord))) return {};
      break;
    case RecordKind::kCudaCopy:
      if (!fits(sizeof(arena::CudaCopyRecord))) return {};
      break;
    case RecordKind::kCudaFill:
      if (!fits(sizeof(arena::CudaFillRecord))) return {};
      break;
    case RecordKind::kCudaSync:
      if (!fits(sizeof(arena::CudaSyncRecord))) return {};
      break;
    case RecordKind::kCudaMemory:
      if (!fits(sizeof(arena::CudaMemoryRecord))) return {};
      break;
    case RecordKind::kCudaJit:
      if (!fits(sizeof(arena::CudaJitRecord))) return {};
      break;
    default:
      return {};
  }
  // All of them begin so.
  static_assert(offsetof(arena::CudaKernelRecord, start) == 16);
  static_assert(offsetof(arena::CudaCopyRecord, start) == 16);
  static_assert(offsetof(arena::CudaFillRecord, start) == 16);
  static_assert(offsetof(arena::CudaSyncRecord, start) == 16);
  static_assert(offsetof(arena::CudaMemoryRecord, time) == 16);
  static_assert(offsetof(arena::CudaJitRecord, start) == 16);
  return {at(sizeof(arena::RecordHeader)), static_cast<int64_t>(at(16))};
}

/// Of others there may be more than of calls that are recorded: allocations of libraries,
/// compilations.
bool needsCall(RecordKind kind) {
  return kind != RecordKind::kCudaMemory && kind != RecordKind::kCudaJit;
}

bool isWork(RecordKind kind) {
  switch (kind) {
    case RecordKind::kCudaKernel:
    case RecordKind::kCudaCopy:
    case RecordKind::kCudaFill:
    case RecordKind::kCudaSync:
    case RecordKind::kCudaMemory:
    case RecordKind::kCudaJit:
      return true;
    default:
      return false;
  }
}

}  // namespace

// --- Definitions --------------------------------------------------------------------------------

CudaLife& RecordedCuda::life(uint64_t correlation) {
  const auto number = static_cast<uint32_t>(correlation / cuda_file::kIdsOfLife);
  return lives_.try_emplace(number, shared_, process_, number).first->second;
}

bool RecordedCuda::define(ByteView record, uint64_t first_correlation) {
  any_ = true;
  CudaLife& of = life(first_correlation);
  switch (kindOf(record)) {
    case RecordKind::kCudaText: {
      arena::CudaTextRecord r;
      if (!takePart(record, r) || r.bytes > record.size()) return false;
      return of.defineText(r, asText(record.subspan(0, r.bytes)));
    }
    case RecordKind::kCudaContext:
      return of.defineContext(record);
    case RecordKind::kCudaDevice:
      return of.defineDevice(record);
    default:
      return false;
  }
}

bool RecordedCuda::graphNode(ByteView record) {
  arena::CudaGraphNodeRecord r;
  if (!takePart(record, r)) return false;
  const CallPathId path = stacks_.beyondVendor(stacks_.path(r.header.aux));
  life(r.correlation).defineGraphNode(r.node, r.original, path);
  if (path != CallPathId::kNone || r.original != 0) {
    shared_.delta.object.push({.process_id = process_,
                               .kind = ObjectKind::kGraphNode,
                               .handle = r.node,
                               .parent = r.original,
                               .bytes = r.correlation,
                               .id = static_cast<uint32_t>(path)});
  }
  return true;
}

// --- Calls --------------------------------------------------------------------------------------

void RecordedCuda::keepCall(uint64_t correlation, const Call& call) {
  if (!calls_.try_emplace(correlation, call).second) return;
  call_order_.push_back(correlation);
  if (call_order_.size() > kMostCalls) forgetOldestCall();
}

void RecordedCuda::forgetOldestCall() {
  const auto oldest = calls_.find(call_order_.front());
  call_order_.pop_front();
  if (oldest->second.awaited) ++totals_.never_came;
  calls_.erase(oldest);
}

RecordedCuda::Call* RecordedCuda::callOf(uint64_t correlation) {
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? nullptr : &found->second;
}

void RecordedCuda::hostCall(const arena::CallRecord& call, ThreadId thread) {
  CudaLife& of = life(call.correlation);
  of.noteCall(call.correlation);
  const CudaLife::Function function = of.function(call.header.aux);
  const StringId kernel = of.kernelName(static_cast<uint32_t>(call.stream));
  const CallPathId path = stacks_.beyondVendor(stacks_.ofCall(call.stack));
  const bool captured = (call.header.flags & arena::kFlagCaptured) != 0;
  ++shared_.host_calls;
  keepCall(call.correlation, {.thread = thread,
                              .path = path,
                              .kernel = kernel,
                              .awaited = (call.header.flags & arena::kFlagKernel) != 0 &&
                                         !captured && call.result == 0});
  if (const auto waits = waiting_.find(call.correlation); waits != waiting_.end()) {
    for (Work& work : waits->second) arrived_.push_back(std::move(work));
    waiting_.erase(waits);
  }
  const int64_t start_ns = host_ns_(call.start);
  shared_.delta.host_call.push({.start_ns = start_ns,
                                .duration_ns = host_ns_(call.end) - start_ns,
                                .name = function.name,
                                .process_id = process_,
                                .thread_id = thread,
                                .correlation_id = call.correlation,
                                .result = call.result,
                                .kind = function.kind,
                                .call_path_id = path,
                                .subject = captured ? kernel : StringId::kNone});
}

// --- Device work --------------------------------------------------------------------------------

bool RecordedCuda::join(ByteView record, ThreadId thread) {
  any_ = true;
  const RecordKind kind = kindOf(record);
  if (isWork(kind)) return work(record, thread);
  switch (kind) {
    case RecordKind::kCudaCall: {
      arena::CallRecord call;
      if (!takePart(record, call)) return false;
      hostCall(call, thread);
      return true;
    }
    case RecordKind::kCudaText: {  // a problem, which may be all there is
      arena::CudaTextRecord r;
      if (!takePart(record, r) || r.bytes > record.size()) return false;
      const std::string_view text = asText(record.subspan(0, r.bytes));
      captures_nothing_ = captures_nothing_ || r.header.aux == 0;
      if (problem_.find(text) == std::string::npos) {
        problem_ += (problem_.empty() ? "" : "; ") + std::string(text);
      }
      return true;
    }
    case RecordKind::kCudaGraphNode:
      return graphNode(record);
    case RecordKind::kCudaOverhead: {
      arena::CudaOverheadRecord r;
      if (!takePart(record, r)) return false;
      const int64_t ns = host_ns_(r.end) - host_ns_(r.start);
      if (ns > 0) totals_.overhead_ns += static_cast<uint64_t>(ns);
      return true;
    }
    case RecordKind::kCudaDropped: {
      arena::CudaDroppedRecord r;
      if (!takePart(record, r)) return false;
      totals_.dropped += r.records;
      return true;
    }
    case RecordKind::kCudaUnified: {
      arena::CudaUnifiedRecord r;
      if (!takePart(record, r)) return false;
      unified(r);
      return true;
    }
    default:
      return false;
  }
}

bool RecordedCuda::work(ByteView record, ThreadId thread) {
  const WorkPlace place = placeOf(record);
  if (place.correlation == 0) return false;
  const RecordKind kind = kindOf(record);
  last_work_[static_cast<uint32_t>(thread)] = {kind, place.correlation, place.start};
  arrived_.push_back({Bytes(record.begin(), record.end()), place.correlation});
  return true;
}

/// A record that a killed program had in a buffer. The first of a buffer may be in a ring already.
bool RecordedCuda::joinLeft(ByteView record, bool first, uint64_t first_correlation) {
  const RecordKind kind = kindOf(record);
  if (kind == RecordKind::kCudaDevice || kind == RecordKind::kCudaContext) {
    return define(record, first_correlation);
  }
  if (!isWork(kind)) return join(record, ThreadId::kNone);
  const WorkPlace place = placeOf(record);
  const WorkKey key{kind, place.correlation, place.start};
  for (const auto& [thread, last] : last_work_) {
    if (first && last == key) return true;
  }
  return work(record, ThreadId::kNone);
}

void RecordedCuda::noteFile(const CudaFile& file, bool dead) {
  auto& [undefined, refused] = file_losses_[file.name()];
  totals_.undefined += file.definitionsLost() - undefined;
  totals_.refused += file.buffersRefused() - refused;
  undefined = file.definitionsLost();
  refused = file.buffersRefused();
  if (!dead) return;
  const uint64_t near = life(file.firstCorrelation()).newestCall();
  const CudaLeft left = file.readBuffers(
      near, [&](ByteView record, bool first) { joinLeft(record, first, file.firstCorrelation()); });
  totals_.unreadable += left.unreadable;
  totals_.unfinished += left.unfinished_others;
  endPass();  // the file is done with when what is there now has been written
}

void RecordedCuda::endPass() {
  const int64_t now = monotonicNs();
  for (Work& work : arrived_) {
    if (Call* const call = callOf(work.correlation)) {
      row(work, call);
      continue;
    }
    work.since_ns = now;
    waiting_order_.emplace_back(work.correlation, now);
    waiting_[work.correlation].push_back(std::move(work));
  }
  arrived_.clear();
  while (!waiting_order_.empty() && (waiting_order_.size() > kMostWaiting ||
                                     now - waiting_order_.front().second > kLongestWaitNs)) {
    giveUp(waiting_order_.front().first);
    waiting_order_.pop_front();
  }
}

/// Nothing of its call has been seen for long: capture was off, or the record was lost.
void RecordedCuda::giveUp(uint64_t correlation) {
  const auto found = waiting_.find(correlation);
  if (found == waiting_.end()) return;
  for (const Work& work : found->second) row(work, callOf(correlation));
  waiting_.erase(found);
}

void RecordedCuda::finish() {
  endPass();
  for (const auto& [correlation, since] : waiting_order_) giveUp(correlation);
  waiting_order_.clear();
  while (!call_order_.empty()) forgetOldestCall();
  for (const auto& [correlation, count] : interrupted_) totals_.interrupted += count;
  interrupted_.clear();
}

// --- Another collector's ------------------------------------------------------------------------

void RecordedCuda::restoreCall(const HostCallRow& row) {
  life(row.correlation_id).noteCall(row.correlation_id);
  const std::string_view name = shared_.delta.strings.at(row.name);
  const bool awaited = shared_.keep_kernels && row.kind == CallKind::kLaunch && row.result == 0 &&
                       row.subject == StringId::kNone && name.starts_with("cu") &&
                       name.find("GraphLaunch") == std::string_view::npos;
  // Of what is forgotten now the file may have the kernel: see forgetWaiting().
  if (call_order_.size() >= kMostCalls) calls_[call_order_.front()].awaited = false;
  keepCall(row.correlation_id,
           {.thread = row.thread_id, .path = row.call_path_id, .awaited = awaited});
}

void RecordedCuda::restoreWaiting(uint64_t correlation) {
  ++interrupted_[correlation];
  if (Call* const call = callOf(correlation)) call->awaited = false;
}

void RecordedCuda::restoreContext(const ContextRow& row) {
  const uint32_t number = CudaLife::lifeOf(row.handle);
  life(number * cuda_file::kIdsOfLife).restoreContext(row);
  restored_contexts_[row.id] = {number, static_cast<uint32_t>(row.handle)};
}

void RecordedCuda::restoreStream(const StreamRow& row) {
  const auto in = restored_contexts_.find(row.context_id);
  if (in == restored_contexts_.end()) return;
  life(in->second.first * cuda_file::kIdsOfLife).restoreStream(row, in->second.second);
}

void RecordedCuda::restoreGraphNode(const ObjectRow& row) {
  life(row.bytes).defineGraphNode(row.handle, row.parent, static_cast<CallPathId>(row.id));
}

void RecordedCuda::forgetWaiting(uint64_t correlation) {
  const auto found = interrupted_.find(correlation);
  if (found != interrupted_.end() && --found->second == 0) interrupted_.erase(found);
  if (Call* const call = callOf(correlation)) call->awaited = false;
}

void RecordedCuda::writeWaiting() {
  for (auto& [correlation, works] : waiting_) {
    std::erase_if(works, [&](const Work& work) {
      if (needsCall(kindOf(work.record))) return false;
      row(work, nullptr);
      return true;
    });
    for (Work& work : works) {
      if (work.told) continue;
      work.told = true;
      // CallKind::kOther tells it from commands that wait for their completion.
      shared_.delta.pending.push({.process_id = process_, .correlation_id = correlation});
    }
  }
}

// --- Rows ---------------------------------------------------------------------------------------

void RecordedCuda::row(const Work& work, Call* call) {
  const uint8_t* const p = work.record.data();
  const RecordKind kind = kindOf(work.record);
  if (call == nullptr && needsCall(kind)) ++totals_.without_call;
  if (call != nullptr && kind == RecordKind::kCudaKernel) call->awaited = false;
  const Call by = call != nullptr ? *call : Call{};
  switch (kind) {
    case RecordKind::kCudaKernel:
      return kernel(loadFixed<arena::CudaKernelRecord>(p), by);
    case RecordKind::kCudaCopy:
      return copy(loadFixed<arena::CudaCopyRecord>(p), by);
    case RecordKind::kCudaFill:
      return fill(loadFixed<arena::CudaFillRecord>(p), by);
    case RecordKind::kCudaSync:
      return sync(loadFixed<arena::CudaSyncRecord>(p), by);
    case RecordKind::kCudaMemory:
      return memory(loadFixed<arena::CudaMemoryRecord>(p), by);
    case RecordKind::kCudaJit:
      return jit(loadFixed<arena::CudaJitRecord>(p), by);
    default:
      return;
  }
}

/// The device had no room for the times of some: they are counted, and drawn nowhere.
bool RecordedCuda::timed(int64_t start, int64_t end) {
  if (start != 0 && end != 0 && end >= start) return true;
  ++totals_.untimed;
  return false;
}

void RecordedCuda::kernel(const arena::CudaKernelRecord& k, const Call& call) {
  if (!shared_.keep_kernels) return;
  if (!timed(k.start, k.end)) return;
  ++shared_.kernels;
  LaunchShapeRow shape{};
  shape.dimensions = k.grid[2] > 1 || k.block[2] > 1 ? 3 : k.grid[1] > 1 || k.block[1] > 1 ? 2 : 1;
  shape.global_x = uint64_t{k.grid[0]} * k.block[0];
  shape.global_y = uint64_t{k.grid[1]} * k.block[1];
  shape.global_z = uint64_t{k.grid[2]} * k.block[2];
  shape.local_x = k.block[0];
  shape.local_y = k.block[1];
  shape.local_z = k.block[2];
  shape.static_shared_bytes = k.static_shared;
  shape.dynamic_shared_bytes = k.dynamic_shared;
  shape.registers_per_thread = k.registers;
  shape.local_bytes_per_thread = k.local_per_thread;
  shape.cluster_x = k.cluster[0];
  shape.cluster_y = k.cluster[1];
  shape.cluster_z = k.cluster[2];
  CudaLife& of = life(k.correlation);
  of.noteContext(k.context, k.device);
  const int64_t start_ns = host_ns_(k.start);
  KernelRow row{.start_ns = start_ns,
                .duration_ns = host_ns_(k.end) - start_ns,
                .process_id = process_,
                .thread_id = call.thread,
                .stream_id = of.stream(k.context, k.stream),
                .correlation_id = k.correlation,
                .shape_id = shared_.shape(shape),
                .call_path_id = call.path};
  row.name = of.kernelName(k.header.aux);
  if (k.graph_node != 0) {
    CudaLife::GraphNode& node = of.graphNode(k.graph_node);
    if (row.name == StringId::kNone) row.name = node.name;
    node.name = row.name;
    const CallPathId made = of.graphNodePath(k.graph_node);
    if (made != CallPathId::kNone) row.call_path_id = made;
  } else if (row.name == StringId::kNone) {
    row.name = call.kernel;
  }
  if (k.queued != 0 && k.submitted != 0) {
    row.flags |= op_flags::kQueueTimes;
    row.queued_before_ns = start_ns - host_ns_(k.queued);
    row.submitted_before_ns = start_ns - host_ns_(k.submitted);
  }
  shared_.delta.kernel.push(row);
}

void RecordedCuda::copy(const arena::CudaCopyRecord& c, const Call& call) {
  if (!shared_.keep_memory || !timed(c.start, c.end)) return;
  ++shared_.copies;
  CudaLife& of = life(c.correlation);
  of.noteContext(c.context, c.device);
  const int64_t start_ns = host_ns_(c.start);
  shared_.delta.copy.push({.start_ns = start_ns,
                           .duration_ns = host_ns_(c.end) - start_ns,
                           .kind = copyKind(c.header.flags),
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = of.stream(c.context, c.stream),
                           .correlation_id = c.correlation,
                           .bytes = c.bytes,
                           .call_path_id = call.path});
}

void RecordedCuda::fill(const arena::CudaFillRecord& f, const Call& call) {
  if (!shared_.keep_memory || !timed(f.start, f.end)) return;
  CudaLife& of = life(f.correlation);
  of.noteContext(f.context, f.device);
  const int64_t start_ns = host_ns_(f.start);
  shared_.delta.fill.push({.start_ns = start_ns,
                           .duration_ns = host_ns_(f.end) - start_ns,
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = of.stream(f.context, f.stream),
                           .correlation_id = f.correlation,
                           .bytes = f.bytes,
                           .call_path_id = call.path});
}

void RecordedCuda::sync(const arena::CudaSyncRecord& s, const Call& call) {
  if (!timed(s.start, s.end)) return;
  const int64_t start_ns = host_ns_(s.start);
  const SyncKind kind = syncKind(s.header.flags);
  shared_.delta.sync.push({.start_ns = start_ns,
                           .duration_ns = host_ns_(s.end) - start_ns,
                           .kind = kind,
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = s.stream == kNoStream
                                            ? StreamId::kNone
                                            : life(s.correlation).stream(s.context, s.stream),
                           .correlation_id = s.correlation,
                           .flags = kind == SyncKind::kBarrier ? 0 : op_flags::kHostSide,
                           .call_path_id = call.path});
}

/// CUpti_ActivityMemoryKind.
std::string_view memoryKindText(uint32_t kind) {
  constexpr std::string_view kTexts[] = {
      "memory", "pageable memory", "pinned memory",        "device memory",
      "array",  "managed memory",  "static device memory", "static managed memory"};
  return kTexts[kind < std::size(kTexts) ? kind : 0];
}

void RecordedCuda::memory(const arena::CudaMemoryRecord& m, const Call& call) {
  if (!shared_.keep_memory) return;
  constexpr uint32_t kNone = ~0u;
  CudaLife& of = life(m.correlation);
  // Memory of the host belongs to no device.
  const bool on_device = m.context != 0 && m.context != kNone && m.device != kNone;
  if (on_device) of.noteContext(m.context, m.device);
  shared_.delta.memory_event.push(
      {.time_ns = host_ns_(m.time),
       .kind = m.header.flags == 1   ? MemoryKind::kAlloc
               : m.header.flags == 2 ? MemoryKind::kFree
                                     : MemoryKind::kUnknown,
       .process_id = process_,
       .thread_id = call.thread,
       .context_id = on_device ? of.context(m.context) : ContextId::kNone,
       .device_id = on_device ? of.device(m.device) : DeviceId::kNone,
       .address = m.address,
       .bytes = m.bytes,
       .correlation_id = m.correlation,
       .name = shared_.delta.strings.intern(memoryKindText(m.header.aux)),
       .call_path_id = call.path});
}

void RecordedCuda::jit(const arena::CudaJitRecord& j, const Call& call) {
  if (!timed(j.start, j.end)) return;
  // CUpti_ActivityJitEntryType, CUpti_ActivityJitOperationType.
  const std::string_view what = j.header.aux == 1   ? "PTX to cubin"
                                : j.header.aux == 2 ? "NVVM IR to PTX"
                                                    : "unknown";
  const std::string_view how = j.header.flags == 1   ? ", from the cache"
                               : j.header.flags == 2 ? ", into the cache"
                                                     : "";
  const int64_t start_ns = host_ns_(j.start);
  shared_.delta.program_build.push(
      {.start_ns = start_ns,
       .duration_ns = host_ns_(j.end) - start_ns,
       .kind = BuildKind::kCompile,
       .process_id = process_,
       .thread_id = call.thread,
       .correlation_id = j.correlation,
       .options = shared_.delta.strings.intern(fmt::format("{}{}", what, how))});
}

/// CUpti_ActivityUnifiedMemoryCounterKind.
void RecordedCuda::unified(const arena::CudaUnifiedRecord& u) {
  if (!shared_.keep_memory || u.start == 0) return;
  const int64_t start_ns = host_ns_(u.start);
  const int64_t duration_ns = u.end > u.start ? host_ns_(u.end) - start_ns : 0;
  StringTable& strings = shared_.delta.strings;
  switch (u.header.flags) {
    case 1:
    case 2:
    case 8:
      ++shared_.copies;
      shared_.delta.copy.push({.start_ns = start_ns,
                               .duration_ns = duration_ns,
                               .kind = CopyKind::kMigrate,
                               .process_id = process_,
                               .bytes = u.value,
                               .source = u.address,
                               .destination = u.address});
      return;
    default:
      break;
  }
  constexpr std::string_view kNames[] = {
      "unified memory",  "",          "",           "CPU page fault",
      "GPU page faults", "thrashing", "throttling", "remote mapping"};
  // The end of a fault of the CPU is not known.
  const bool instant = u.header.flags == 3 || duration_ns == 0;
  const auto attribute = [&](std::string_view key, const std::string& value) {
    shared_.delta.attribute.push({.table = static_cast<uint32_t>(TableId::kRange),
                                  .row_number = shared_.nextRange(),
                                  .key = strings.intern(key),
                                  .value = strings.intern(value)});
  };
  attribute("address", fmt::format("0x{:x}", u.address));
  if (u.header.flags == 4) attribute("faults", std::to_string(u.value));
  shared_.delta.range.push(
      {.start_ns = start_ns,
       .duration_ns = instant ? 0 : duration_ns,
       .kind = instant ? RangeKind::kInstant : RangeKind::kRange,
       .name = strings.intern(kNames[u.header.flags < std::size(kNames) ? u.header.flags : 0]),
       .category = strings.intern("unified memory"),
       .process_id = process_});
}

}  // namespace tracesmith
