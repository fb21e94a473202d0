// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/recorded_cuda.hpp"

#include <fmt/format.h>

#include "tracesmith/capture/record_joiner.hpp"

namespace tracesmith {
namespace {

using arena::RecordKind;

// CUPTI delivers late, but not that late.
constexpr size_t kMostCalls = 1u << 20;
constexpr size_t kMostWaiting = 1u << 16;
constexpr uint32_t kNoStream = ~0u;

template <class Record>
bool take(ByteView record, Record& out) {
  if (record.size() < sizeof out) return false;
  out = loadFixed<Record>(record.data());
  return true;
}

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

uint64_t correlationOf(ByteView record) {
  return loadFixed<uint64_t>(record.data() + sizeof(arena::RecordHeader));
}

}  // namespace

bool RecordedCuda::defineText(ByteView record) {
  arena::CudaTextRecord r;
  if (!take(record, r) || r.bytes > record.size() - sizeof r) return false;
  const std::string_view text(reinterpret_cast<const char*>(record.data()) + sizeof r, r.bytes);
  StringTable& strings = shared_.delta.strings;
  switch (static_cast<arena::CudaText>(r.header.flags)) {
    case arena::CudaText::kKernel:
      kernel_names_[r.header.aux] = strings.intern(text);
      return true;
    case arena::CudaText::kFunction:
      functions_[r.header.aux] = {strings.intern(text), static_cast<CallKind>(r.call_kind & 7)};
      return true;
    case arena::CudaText::kDevice:
      described_[r.header.aux].name = strings.intern(text);
      return true;
    case arena::CudaText::kProblem:
      if (problem_.find(text) == std::string::npos) {
        problem_ += (problem_.empty() ? "" : "; ") + std::string(text);
      }
      return true;
  }
  return false;
}

bool RecordedCuda::define(ByteView record) {
  any_ = true;
  switch (loadFixed<arena::RecordHeader>(record.data()).kind) {
    case RecordKind::kCudaText:
      return defineText(record);
    case RecordKind::kCudaContext: {
      arena::CudaContextRecord r;
      if (!take(record, r)) return false;
      context_devices_[r.header.aux] = static_cast<uint32_t>(r.device);
      return true;
    }
    case RecordKind::kCudaDevice: {
      arena::CudaDeviceRecord r;
      if (!take(record, r)) return false;
      DeviceRow& row = described_[r.header.aux];
      StringTable& strings = shared_.delta.strings;
      row.kind = DeviceKind::kGpu;
      row.vendor = strings.intern("NVIDIA");
      row.memory_bytes = r.memory_bytes;
      row.compute_units = r.multiprocessors;
      row.clock_mhz = r.clock_mhz;
      row.warp_size = r.warp_size;
      row.max_work_group_size = r.threads_per_block;
      row.compute_major = r.compute_major;
      row.compute_minor = r.compute_minor;
      std::string uuid = "GPU-";
      for (size_t i = 0; i < sizeof r.uuid; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) uuid += '-';
        uuid += fmt::format("{:02x}", r.uuid[i]);
      }
      row.uuid = strings.intern(uuid);
      return true;
    }
    default:
      return true;
  }
}

bool RecordedCuda::join(ByteView record, ThreadId thread) {
  switch (loadFixed<arena::RecordHeader>(record.data()).kind) {
    case RecordKind::kCudaCall: {
      arena::CallRecord call;
      if (!take(record, call)) return false;
      hostCall(call, thread);
      return true;
    }
    case RecordKind::kCudaKernel:
      if (record.size() < sizeof(arena::CudaKernelRecord)) return false;
      break;
    case RecordKind::kCudaCopy:
      if (record.size() < sizeof(arena::CudaCopyRecord)) return false;
      break;
    case RecordKind::kCudaFill:
      if (record.size() < sizeof(arena::CudaFillRecord)) return false;
      break;
    case RecordKind::kCudaSync:
      if (record.size() < sizeof(arena::CudaSyncRecord)) return false;
      break;
    case RecordKind::kCudaOverhead: {
      arena::CudaOverheadRecord r;
      if (!take(record, r)) return false;
      const int64_t ns = host_ns_(r.end) - host_ns_(r.start);
      if (ns > 0) totals_.overhead_ns += static_cast<uint64_t>(ns);
      return true;
    }
    case RecordKind::kCudaDropped: {
      arena::CudaDroppedRecord r;
      if (!take(record, r)) return false;
      totals_.dropped += r.records;
      return true;
    }
    default:
      return true;
  }
  waiting_.push_back({Bytes(record.begin(), record.end()), correlationOf(record)});
  if (waiting_.size() > kMostWaiting) {
    row(waiting_.front(), nullptr);
    waiting_.pop_front();
  }
  return true;
}

void RecordedCuda::hostCall(const arena::CallRecord& call, ThreadId thread) {
  const auto known = functions_.find(call.header.aux);
  const Function function = known != functions_.end() ? known->second : Function{};
  ++shared_.host_calls;
  if (calls_.try_emplace(call.correlation, Call{thread, call.stack}).second) {
    call_order_.push_back(call.correlation);
    if (call_order_.size() > kMostCalls) {
      calls_.erase(call_order_.front());
      call_order_.pop_front();
    }
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
                                .call_path_id = stacks_.ofCall(call.stack)});
}

const RecordedCuda::Call* RecordedCuda::callOf(uint64_t correlation) const {
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? nullptr : &found->second;
}

void RecordedCuda::endPass() {
  const size_t count = waiting_.size();
  for (size_t i = 0; i < count; ++i) {
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    if (const Call* const call = callOf(work.correlation)) {
      row(work, call);
    } else {
      waiting_.push_back(std::move(work));
    }
  }
}

void RecordedCuda::finish() {
  for (const Work& work : waiting_) row(work, callOf(work.correlation));
  waiting_.clear();
}

void RecordedCuda::row(const Work& work, const Call* call) {
  if (call == nullptr) ++totals_.without_call;
  const Call by = call != nullptr ? *call : Call{};
  const uint8_t* const p = work.record.data();
  switch (loadFixed<arena::RecordHeader>(p).kind) {
    case RecordKind::kCudaKernel:
      return kernel(loadFixed<arena::CudaKernelRecord>(p), by);
    case RecordKind::kCudaCopy:
      return copy(loadFixed<arena::CudaCopyRecord>(p), by);
    case RecordKind::kCudaFill:
      return fill(loadFixed<arena::CudaFillRecord>(p), by);
    case RecordKind::kCudaSync:
      return sync(loadFixed<arena::CudaSyncRecord>(p), by);
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
  const int64_t start_ns = host_ns_(k.start);
  KernelRow row{.start_ns = start_ns,
                .duration_ns = host_ns_(k.end) - start_ns,
                .process_id = process_,
                .thread_id = call.thread,
                .stream_id = stream(k.context, k.stream),
                .correlation_id = k.correlation,
                .shape_id = shared_.shape(shape),
                .call_path_id = stacks_.path(call.stack)};
  const auto name = kernel_names_.find(k.header.aux);
  if (name != kernel_names_.end()) row.name = name->second;
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
  const int64_t start_ns = host_ns_(c.start);
  shared_.delta.copy.push({.start_ns = start_ns,
                           .duration_ns = host_ns_(c.end) - start_ns,
                           .kind = copyKind(c.header.flags),
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = stream(c.context, c.stream),
                           .correlation_id = c.correlation,
                           .bytes = c.bytes,
                           .call_path_id = stacks_.path(call.stack)});
}

void RecordedCuda::fill(const arena::CudaFillRecord& f, const Call& call) {
  if (!shared_.keep_memory || !timed(f.start, f.end)) return;
  const int64_t start_ns = host_ns_(f.start);
  shared_.delta.fill.push({.start_ns = start_ns,
                           .duration_ns = host_ns_(f.end) - start_ns,
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = stream(f.context, f.stream),
                           .correlation_id = f.correlation,
                           .bytes = f.bytes,
                           .call_path_id = stacks_.path(call.stack)});
}

void RecordedCuda::sync(const arena::CudaSyncRecord& s, const Call& call) {
  if (!timed(s.start, s.end)) return;
  const int64_t start_ns = host_ns_(s.start);
  const SyncKind kind = syncKind(s.header.flags);
  shared_.delta.sync.push(
      {.start_ns = start_ns,
       .duration_ns = host_ns_(s.end) - start_ns,
       .kind = kind,
       .process_id = process_,
       .thread_id = call.thread,
       .stream_id = s.stream == kNoStream ? StreamId::kNone : stream(s.context, s.stream),
       .correlation_id = s.correlation,
       .flags = kind == SyncKind::kBarrier ? 0 : op_flags::kHostSide,
       .call_path_id = stacks_.path(call.stack)});
}

DeviceId RecordedCuda::device(uint32_t ordinal) {
  const auto [it, fresh] = devices_.try_emplace(ordinal);
  if (fresh) {
    DeviceRow row = described_[ordinal];
    StringTable& strings = shared_.delta.strings;
    row.backend = PlatformType::CUDA;
    row.platform = strings.intern("CUDA");
    row.ordinal = ordinal;
    if (row.name == StringId{}) row.name = strings.intern("CUDA device " + std::to_string(ordinal));
    it->second = shared_.device(row);
  }
  return it->second;
}

ContextId RecordedCuda::context(uint32_t number) {
  const auto [it, fresh] = contexts_.try_emplace(number);
  if (fresh) {
    it->second = static_cast<ContextId>(++shared_.contexts);
    shared_.delta.context.push({.id = it->second,
                                .process_id = process_,
                                .handle = number,
                                .ordinal = static_cast<uint32_t>(contexts_.size() - 1),
                                .device_id = device(context_devices_[number])});
  }
  return it->second;
}

StreamId RecordedCuda::stream(uint32_t context_number, uint32_t number) {
  const auto [it, fresh] = streams_.try_emplace({context_number, number});
  if (fresh) {
    const ContextId in = context(context_number);
    it->second = static_cast<StreamId>(++shared_.streams);
    shared_.delta.stream.push({.id = it->second,
                               .process_id = process_,
                               .context_id = in,
                               .device_id = device(context_devices_[context_number]),
                               .handle = number,
                               .ordinal = static_cast<uint32_t>(streams_.size() - 1)});
  }
  return it->second;
}

}  // namespace tracesmith
