// SPDX-License-Identifier: Apache-2.0
// Takes the definitions of objects (devices, queues, kernels, buffers) from records, before any
// command refers to them.
#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"

namespace tracesmith {

using arena::CallRecord;
using arena::RecordKind;

void RecordJoiner::define(ByteView record) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  if (RecordedMpi::isOne(header.kind)) {
    const bool is_valid = mpi_.define(record);
    if (header.kind == RecordKind::kMpiCommunicator) countDamagedUnless(is_valid);
    return;  // join() counts calls that are not valid
  }
  if (RecordedNccl::isOne(header.kind)) {
    const bool is_valid = nccl_.define(record);
    if (header.kind == RecordKind::kNcclCommunicator) countDamagedUnless(is_valid);
    return;
  }
  switch (header.kind) {
    case RecordKind::kObject:
      defineObject(record);
      return;
    case RecordKind::kDevice:
      defineDevice(record);
      return;
    case RecordKind::kMemory:
      defineMemory(record);
      return;
    case RecordKind::kKernel:
    case RecordKind::kTransfer:
    case RecordKind::kSync: {
      CallRecord call;
      if (!takePart(record, call) || call.result != 0) return;
      uint64_t event = 0;
      if (header.kind == RecordKind::kKernel) {
        arena::KernelPart part;
        if (takePart(record, part)) event = part.event;
      } else if (header.kind == RecordKind::kTransfer) {
        arena::TransferPart part;
        if (takePart(record, part)) event = part.event;
      } else {
        arena::SyncPart part;
        if (takePart(record, part)) event = part.event;
      }
      if (event != 0) command_events_.define(event, call.end, call.correlation);
      return;
    }
    case RecordKind::kBuild: {
      CallRecord call;
      arena::BuildPart part;
      if (takePart(record, call) && takePart(record, part) &&
          builds_.define(part.program, call.end, build_count_ + 1)) {
        ++build_count_;
      }
      return;
    }
    default:
      return;
  }
}

void RecordJoiner::defineObject(ByteView record) {
  arena::ObjectRecord r;
  if (!takePart(record, r) || record.size() < r.name_bytes) return countDamaged();
  const auto kind = static_cast<ObjectKind>(r.header.aux);
  const std::string_view name = asText(record.subspan(0, r.name_bytes));
  Object object{.parent = r.parent};
  ObjectRow row{.process_id = process_,
                .kind = kind,
                .handle = r.handle,
                .created_ns = hostNs(r.time),
                .parent = r.parent,
                .created_stamp = r.time};
  switch (kind) {
    case ObjectKind::kKernel:
      object.name = shared_.delta.strings.intern(name);
      row.name = object.name;
      if (!kernels_.define(r.handle, r.time, object)) return;
      break;
    case ObjectKind::kContext: {
      object.id = shared_.contexts + 1;
      row.id = object.id;
      if (!contexts_.define(r.handle, r.time, object)) return;
      ++shared_.contexts;
      const DeviceId* device = devices_.at(r.parent, r.time);
      shared_.delta.context.push({.id = static_cast<ContextId>(object.id),
                                  .process_id = process_,
                                  .handle = r.handle,
                                  .ordinal = contexts_made_++,
                                  .device_id = device ? *device : DeviceId::kNone,
                                  .created_ns = hostNs(r.time)});
      break;
    }
    case ObjectKind::kStream: {
      object.id = shared_.streams + 1;
      row.id = object.id;
      if (!streams_.define(r.handle, r.time, object)) return;
      ++shared_.streams;
      const DeviceId* device = devices_.at(r.other, r.time);
      const auto id = static_cast<StreamId>(object.id);
      stream_devices_[id] = device ? *device : DeviceId::kNone;
      shared_.delta.stream.push({.id = id,
                                 .process_id = process_,
                                 .context_id = context(r.parent, r.time),
                                 .device_id = stream_devices_[id],
                                 .handle = r.handle,
                                 .ordinal = streams_made_++,
                                 .flags = r.properties,
                                 .created_ns = hostNs(r.time)});
      break;
    }
    case ObjectKind::kMemory:  // created while capture was disabled; otherwise see defineMemory
      object.bytes = row.bytes = r.other;
      if (!memory_.define(r.handle, r.time, object)) return;
      break;
    case ObjectKind::kEvent:
      command_events_.define(r.handle, r.time, 0);
      return;
    default:
      return;
  }
  shared_.delta.object.push(row);
}

void RecordJoiner::defineDevice(ByteView record) {
  arena::DeviceRecord r;
  if (!takePart(record, r) || record.size() < r.text_bytes) return countDamaged();
  std::string_view texts = asText(record.subspan(0, r.text_bytes));
  auto next = [&] {
    const size_t end = std::min(texts.find('\0'), texts.size());
    const StringId id = shared_.delta.strings.intern(texts.substr(0, end));
    texts.remove_prefix(std::min(end + 1, texts.size()));
    return id;
  };
  DeviceRow row{.backend = PlatformType::OpenCL, .ordinal = r.ordinal};
  row.name = next();
  row.vendor = next();
  row.platform = next();
  row.driver_version = next();
  row.api_version = next();
  row.kind = static_cast<DeviceKind>(r.device_kind);
  row.memory_bytes = r.memory_bytes;
  row.compute_units = r.compute_units;
  row.clock_mhz = r.clock_mhz;
  row.max_work_group_size = r.max_work_group_size;
  const DeviceId id = shared_.device(row);
  // A device's handle has the same meaning for the life of the process.
  if (devices_.define(r.handle, 0, id)) {
    shared_.delta.object.push({.process_id = process_,
                               .kind = ObjectKind::kDevice,
                               .handle = r.handle,
                               .id = static_cast<uint32_t>(id)});
  }
}

void RecordJoiner::defineMemory(ByteView record) {
  CallRecord call;
  arena::MemoryPart part;
  if (!takePart(record, call) || !takePart(record, part)) return countDamaged();
  if (!memory_.define(part.handle, call.end, {.parent = part.context, .bytes = part.bytes})) {
    return;
  }
  shared_.delta.object.push({.process_id = process_,
                             .kind = ObjectKind::kMemory,
                             .handle = part.handle,
                             .created_ns = hostNs(call.end),
                             .parent = part.context,
                             .bytes = part.bytes,
                             .created_stamp = call.end});
}

void RecordJoiner::restoreObject(const ObjectRow& row) {
  const Object object{row.name, row.parent, row.bytes, row.id};
  switch (row.kind) {
    case ObjectKind::kKernel:
      kernels_.define(row.handle, row.created_stamp, object);
      break;
    case ObjectKind::kContext:
      contexts_.define(row.handle, row.created_stamp, object);
      ++contexts_made_;
      break;
    case ObjectKind::kStream:
      streams_.define(row.handle, row.created_stamp, object);
      ++streams_made_;
      break;
    case ObjectKind::kMemory:
      memory_.define(row.handle, row.created_stamp, object);
      break;
    case ObjectKind::kDevice:
      devices_.define(row.handle, 0, static_cast<DeviceId>(row.id));
      break;
    case ObjectKind::kCallPath:
      stacks_.restorePath(row);
      break;
    case ObjectKind::kPythonCode:
      stacks_.restorePythonCode(row);
      break;
    case ObjectKind::kXRayProgram:
      calls_.restoreProgram(row);
      break;
    case ObjectKind::kGraphNode:
      cuda_.restoreGraphNode(row);
      break;
    case ObjectKind::kEvent:  // CUDA only: OpenCL events are known by their commands
      cuda_.events().restoreRecorded(row);
      break;
    default:
      break;
  }
}

void RecordJoiner::restorePending(const PendingRow& row) {
  if (row.kind == CallKind::kOther && row.sub_kind == RecordedNvtx::kPendingKind) {
    return nvtx_.restoreOpen(row);
  }
  if (row.kind == CallKind::kOther && row.sub_kind == CudaEvents::kPendingKind) {
    return cuda_.events().restoreWait(row);
  }
  if (row.kind == CallKind::kOther && row.sub_kind == RecordedCuda::kPendingNoDeviceWork) {
    return cuda_.restoreNoDeviceWork(row.correlation_id);
  }
  if (row.kind == CallKind::kOther && RecordedCuda::isVirtualMemory(row.sub_kind)) {
    return cuda_.restoreVirtualMemory(row);
  }
  if (row.kind == CallKind::kOther) return cuda_.restoreWaiting(row.correlation_id);
  pending_[row.correlation_id] = {row, true};
}

}  // namespace tracesmith
