// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA's virtual memory API as rows of the trace: mapping and unmapping as instants, the
// physical memory that they allocate and free as memory events.
#include <fmt/format.h>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/join/recorded_cuda.hpp"

namespace tracesmith {
namespace {

using arena::VirtualMemoryCall;

constexpr std::string_view kOnDevice = "device memory, virtual";
constexpr std::string_view kOnHost = "host memory, virtual";
constexpr int64_t kLongestWithoutDeviceNs = 10'000'000'000;

}  // namespace

void RecordedCuda::joinVirtualMemory(const arena::CudaVirtualMemoryRecord& r, ThreadId thread) {
  if (!shared_.keep_memory) return;
  const VirtualMemory::Operation op{
      .call = static_cast<VirtualMemoryCall>(r.header.flags),
      .correlation = r.correlation,
      .stamp = r.time,
      .time_ns = host_ns_(r.time),
      .handle = r.handle,
      .address = r.address,
      .bytes = r.bytes,
      .device = r.device,
      .thread = thread,
      .path = stacks_.withoutVendorFrames(stacks_.path(r.header.aux))};
  virtual_memory_.add(op);
  shared_.delta.pending.push({.process_id = process_,
                              .correlation_id = op.correlation,
                              .sub_kind = kPendingVirtualMemory | r.header.flags,
                              .thread_id = op.thread,
                              .bytes = op.bytes,
                              .source = op.address,
                              .destination = op.handle,
                              .flags = op.device,
                              .call_path_id = op.path,
                              .host_start_ns = op.time_ns,
                              .host_end_ns = op.stamp});
  const bool maps = op.call == VirtualMemoryCall::kMap;
  if (!maps && op.call != VirtualMemoryCall::kUnmap) return;
  attributeOfRange("address", fmt::format("0x{:x}", op.address));
  attributeOfRange("bytes", std::to_string(op.bytes));
  if (maps) {
    attributeOfRange("offset", std::to_string(r.offset));
    attributeOfRange("handle", fmt::format("0x{:x}", op.handle));
  }
  StringTable& strings = shared_.delta.strings;
  shared_.delta.range.push({.start_ns = op.time_ns,
                            .kind = RangeKind::kInstant,
                            .name = strings.intern(maps ? "memory map" : "memory unmap"),
                            .category = strings.intern("virtual memory"),
                            .process_id = process_,
                            .thread_id = op.thread,
                            .correlation_id = op.correlation,
                            .call_path_id = op.path});
}

/// Makes rows of events, in order. The first events wait until CUPTI has described the devices,
/// because a device's row is written only once. A resuming collector makes the events again that
/// have no row yet.
void RecordedCuda::writeMemoryEvents(const std::vector<VirtualMemory::Event>& events, bool last) {
  const int64_t now = monotonicNs();
  if (memory_events_.empty()) memory_events_since_ns_ = now;
  memory_events_.insert(memory_events_.end(), events.begin(), events.end());
  last = last || now - memory_events_since_ns_ > kLongestWithoutDeviceNs;
  while (!memory_events_.empty()) {
    const VirtualMemory::Event& next = memory_events_.front();
    const bool is_known =
        next.device == arena::kNoDevice || life(next.created_by).knowsDevice(next.device);
    if (!is_known && !last) return;
    writeMemoryEvent(next);
    memory_events_.pop_front();
  }
}

/// Physical memory belongs to its device and to all devices that map it, not to a context.
void RecordedCuda::writeMemoryEvent(const VirtualMemory::Event& event) {
  const bool on_device = event.device != arena::kNoDevice;
  shared_.delta.memory_event.push(
      {.time_ns = event.time_ns,
       .kind = event.kind,
       .process_id = process_,
       .thread_id = event.thread,
       .device_id = on_device ? life(event.created_by).device(event.device) : DeviceId::kNone,
       .address = event.address,
       .bytes = event.bytes,
       .correlation_id = event.correlation,
       .name = shared_.delta.strings.intern(on_device ? kOnDevice : kOnHost),
       .call_path_id = event.path});
}

void RecordedCuda::restoreVirtualMemory(const PendingRow& row) {
  any_ = true;
  virtual_memory_.add({.call = static_cast<VirtualMemoryCall>(row.sub_kind & 0xff),
                       .correlation = row.correlation_id,
                       .stamp = row.host_end_ns,
                       .time_ns = row.host_start_ns,
                       .handle = row.destination,
                       .address = row.source,
                       .bytes = row.bytes,
                       .device = row.flags,
                       .thread = row.thread_id,
                       .path = row.call_path_id});
}

void RecordedCuda::restoreMemoryEvent(const MemoryEventRow& row) {
  const std::string_view name = shared_.delta.strings.at(row.name);
  if (name == kOnDevice || name == kOnHost) virtual_memory_.restoreEvent(row);
}

}  // namespace tracesmith
