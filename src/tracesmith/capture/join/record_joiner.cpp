// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/record_joiner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/protocol/opencl_api.hpp"

namespace tracesmith {

using arena::CallRecord;
using arena::RecordKind;

namespace {

constexpr size_t kMostArguments = 64;  // of a kernel, in the argument summary

/// Takes `count` u64 values from the front of `bytes`; false when there are fewer.
bool takeWords(ByteView& bytes, size_t count, std::vector<uint64_t>& out) {
  out.clear();
  if (bytes.size() / 8 < count) return false;
  for (size_t i = 0; i < count; ++i) out.push_back(loadFixed<uint64_t>(bytes.data() + 8 * i));
  bytes = bytes.subspan(8 * count);
  return true;
}

const ApiFunction* apiFunction(uint32_t number) {
  return number < static_cast<uint32_t>(OpenClApi::kCount) ? &kOpenClApi[number] : nullptr;
}

}  // namespace

// --- SharedRows -----------------------------------------------------------------------------

ShapeId SharedRows::shape(const LaunchShapeRow& row) {
  const std::vector<uint64_t> key = {row.dimensions,
                                     row.global_x,
                                     row.global_y,
                                     row.global_z,
                                     row.local_x,
                                     row.local_y,
                                     row.local_z,
                                     row.offset_x,
                                     row.offset_y,
                                     row.offset_z,
                                     row.static_shared_bytes,
                                     row.dynamic_shared_bytes,
                                     row.registers_per_thread,
                                     row.local_bytes_per_thread,
                                     row.cluster_x,
                                     row.cluster_y,
                                     row.cluster_z};
  auto [it, is_new] = shapes.try_emplace(key, idAt<ShapeId>(shapes.size()));
  if (is_new) delta.launch_shape.push(row);
  return it->second;
}

CounterTrackId SharedRows::counterTrack(const CounterTrackRow& row) {
  const std::string key =
      fmt::format("{} {} {}", static_cast<uint32_t>(row.process_id),
                  static_cast<uint32_t>(row.thread_id), delta.strings.at(row.name));
  const auto [it, fresh] =
      counter_tracks.try_emplace(key, idAt<CounterTrackId>(counter_tracks.size()));
  if (fresh) delta.counter_track.push(row);
  return it->second;
}

DeviceId SharedRows::device(const DeviceRow& row) {
  const auto isAlike = [&](const DeviceRow& known) {
    return known.backend == row.backend && known.platform == row.platform && known.name == row.name;
  };
  for (const DeviceState& d : devices) {
    if (row.uuid != StringId::kNone && d.row.uuid == row.uuid && isAlike(d.row)) return d.row.id;
  }
  for (const DeviceState& d : devices) {
    const bool are_known = d.row.uuid != StringId::kNone && row.uuid != StringId::kNone;
    if (!are_known && isAlike(d.row) && d.row.ordinal == row.ordinal) return d.row.id;
  }
  DeviceState d;
  d.row = row;
  d.row.id = idAt<DeviceId>(devices.size());
  const auto address = address_by_uuid.find(delta.text(row.uuid));
  if (row.pci_address == StringId::kNone && address != address_by_uuid.end()) {
    d.row.pci_address = delta.strings.intern(address->second);
  }
  delta.device.push(d.row);
  devices.push_back(std::move(d));
  return devices.back().row.id;
}

void SharedRows::noteAddress(const std::string& uuid, const std::string& pci_address) {
  address_by_uuid[uuid] = pci_address;
  for (DeviceState& d : devices) {
    if (d.row.pci_address != StringId::kNone || delta.text(d.row.uuid) != uuid) continue;
    d.row.pci_address = delta.strings.intern(pci_address);
    delta.device.push(d.row);
  }
}

// --- Rows -----------------------------------------------------------------------------------

void RecordJoiner::join(ByteView record, uint32_t tid) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  ++shared_.events;
  if (RecordedMpi::isOne(header.kind)) return countDamagedUnless(mpi_.join(record, thread(tid)));
  if (RecordedNccl::isOne(header.kind)) return countDamagedUnless(nccl_.join(record, thread(tid)));
  if (RecordedCuda::isOne(header.kind)) return countDamagedUnless(cuda_.join(record, thread(tid)));
  switch (header.kind) {
    case RecordKind::kNvtx:
      return joinNvtx(record, tid);
    case RecordKind::kFunction:
      return joinFunction(record, tid);
    case RecordKind::kXRayProgram:
      return countDamagedUnless(calls_.addProgram(record));
    case RecordKind::kUnwrappedLoader:
      return joinUnwrappedLoader(record);
    case RecordKind::kThread:
      return joinThread(record);
    case RecordKind::kComplete:
      return joinComplete(record);
    case RecordKind::kFree:
      return joinFree(record, tid);
    case RecordKind::kArgument:
      return joinArgument(record);
    case RecordKind::kPath:
      return countDamagedUnless(stacks_.addPaths(record));
    case RecordKind::kPythonCode:
      return countDamagedUnless(stacks_.addPythonCode(record));
    case RecordKind::kPythonInterpreter:
      return countDamagedUnless(stacks_.addPythonInterpreter(record));
    case RecordKind::kModule:
      return countDamagedUnless(stacks_.addModule(record));
    case RecordKind::kObject:
    case RecordKind::kDevice:
      return;  // define() has already handled it
    default:
      return joinCall(record, tid);
  }
}

void RecordJoiner::joinCall(ByteView record, uint32_t tid) {
  CallRecord call;
  if (!takePart(record, call)) return countDamaged();
  switch (call.header.kind) {
    case RecordKind::kCall:
      return writeHostCall(call, tid);
    case RecordKind::kKernel:
      return joinKernel(call, record, tid);
    case RecordKind::kTransfer:
      return joinTransfer(call, record, tid);
    case RecordKind::kSync:
      return joinSync(call, record, tid);
    case RecordKind::kMemory:
      return joinMemory(call, record, tid);
    case RecordKind::kBuild:
      return joinBuild(call, record, tid);
    default:
      return countDamaged();
  }
}

void RecordJoiner::joinNvtx(ByteView record, uint32_t tid) {
  countDamagedUnless(nvtx_.join(record, thread(tid), [this](uint32_t named, std::string_view name) {
    nameThread(named, name);
  }));
}

void RecordJoiner::joinFunction(ByteView record, uint32_t tid) {
  arena::FunctionRecord r;
  if (!takePart(record, r)) return countDamaged();
  calls_.add(r, hostNs(r.time), tid, thread(tid));
}

void RecordJoiner::joinUnwrappedLoader(ByteView record) {
  arena::UnwrappedLoaderRecord r;
  if (!takePart(record, r) || r.header.aux > record.size()) return countDamaged();
  unwrapped_loaders_.emplace(
      std::string(reinterpret_cast<const char*>(record.data()), r.header.aux),
      static_cast<arena::UnwrappedLoader>(r.header.flags));
}

void RecordJoiner::joinThread(ByteView record) {
  arena::ThreadRecord r;
  if (!takePart(record, r)) return countDamaged();
  const std::string_view name(r.name, strnlen(r.name, sizeof r.name));
  nvtx_.threadBegins(shared_.threads.thread(process_, r.header.aux, name));
}

void RecordJoiner::nameThread(uint32_t tid, std::string_view name) {
  shared_.threads.thread(process_, tid, name, NamedBy::kProgram);
}

ThreadId RecordJoiner::thread(uint32_t tid) {
  const auto [it, is_new] = threads_.try_emplace(tid, ThreadId::kNone);
  if (is_new) it->second = shared_.threads.thread(process_, tid);
  return it->second;
}

StreamId RecordJoiner::stream(uint64_t handle, int64_t stamp) const {
  const Object* o = handle == 0 ? nullptr : streams_.at(handle, stamp);
  return o == nullptr ? StreamId::kNone : static_cast<StreamId>(o->id);
}

ContextId RecordJoiner::context(uint64_t handle, int64_t stamp) const {
  const Object* o = handle == 0 ? nullptr : contexts_.at(handle, stamp);
  return o == nullptr ? ContextId::kNone : static_cast<ContextId>(o->id);
}

void RecordJoiner::writeHostCall(const CallRecord& call, uint32_t tid) {
  const ApiFunction* function = apiFunction(call.header.aux);
  if (function == nullptr) return countDamaged();
  ++shared_.host_calls;
  // The call that creates a queue ends after its object was described. It counts as a call on that
  // queue.
  shared_.delta.host_call.push({.start_ns = hostNs(call.start),
                                .duration_ns = hostNs(call.end) - hostNs(call.start),
                                .name = shared_.delta.strings.intern(function->name),
                                .process_id = process_,
                                .thread_id = thread(tid),
                                .stream_id = stream(call.stream, call.end),
                                .correlation_id = call.correlation,
                                .result = call.result,
                                .kind = function->kind,
                                .call_path_id = stacks_.pathOfCall(call.stack)});
}

void RecordJoiner::joinWaits(const CallRecord& call, ByteView handles, uint32_t count,
                             bool as_flow) {
  std::vector<uint64_t> events;
  if (!takeWords(handles, count, events)) return countDamaged();
  for (uint64_t event : events) {
    const uint64_t* from = command_events_.at(event, call.start);
    if (from == nullptr) {
      ++unknown_waits_;
    } else if (*from != 0 && as_flow) {
      shared_.delta.flow.push({.process_id = process_,
                               .from_correlation_id = *from,
                               .to_correlation_id = call.correlation,
                               .kind = FlowKind::kWait});
    }
  }
}

void RecordJoiner::joinKernel(const CallRecord& call, ByteView rest, uint32_t tid) {
  arena::KernelPart part;
  if (!takePart(rest, part) || part.dimensions > 3) return countDamaged();
  writeHostCall(call, tid);
  std::vector<uint64_t> global, local, offset;
  const size_t n = part.dimensions;
  if (!takeWords(rest, n, global) || !takeWords(rest, part.has_local ? n : 0, local) ||
      !takeWords(rest, part.has_offset ? n : 0, offset)) {
    return countDamaged();
  }
  joinWaits(call, rest, part.wait_count, true);

  LaunchShapeRow shape{.dimensions = static_cast<uint32_t>(n)};
  auto at = [](const std::vector<uint64_t>& v, size_t i, uint64_t otherwise) {
    return i < v.size() ? v[i] : otherwise;
  };
  const uint64_t unused = n == 0 ? 0 : 1;  // sizes of unspecified dimensions
  shape.global_x = at(global, 0, unused);
  shape.global_y = at(global, 1, unused);
  shape.global_z = at(global, 2, unused);
  if (!local.empty()) {
    shape.local_x = static_cast<uint32_t>(at(local, 0, 1));
    shape.local_y = static_cast<uint32_t>(at(local, 1, 1));
    shape.local_z = static_cast<uint32_t>(at(local, 2, 1));
  }
  shape.offset_x = at(offset, 0, 0);
  shape.offset_y = at(offset, 1, 0);
  shape.offset_z = at(offset, 2, 0);

  const Object* kernel = kernels_.at(part.kernel, call.start);
  PendingRow row{.process_id = process_,
                 .correlation_id = call.correlation,
                 .kind = CallKind::kLaunch,
                 .thread_id = thread(tid),
                 .stream_id = stream(call.stream, call.start),
                 .shape_id = shared_.shape(shape),
                 .arguments = describeArguments(part.kernel, call.start),
                 .call_path_id = stacks_.path(call.stack),
                 .host_start_ns = hostNs(call.start),
                 .host_end_ns = hostNs(call.end)};
  if (kernel != nullptr) {
    row.name = kernel->name;
  } else {
    row.name = shared_.delta.strings.intern(part.kernel == 0 ? "native kernel" : "unknown kernel");
  }
  if (isFirstLaunch(row, kernel, call.start, shape)) row.flags |= op_flags::kFirstLaunch;
  commandStarted(row);
}

bool RecordJoiner::isFirstLaunch(const PendingRow& row, const Object* kernel, int64_t stamp,
                                 const LaunchShapeRow& shape) {
  const uint64_t* build = kernel == nullptr ? nullptr : builds_.at(kernel->parent, stamp);
  // Drivers that compile at the first launch do so for each kernel, device and work-group size.
  const uint64_t group =
      shape.local_x | (uint64_t{shape.local_y} << 21) | (uint64_t{shape.local_z} << 42);
  const uint64_t number = build == nullptr ? 0 : *build;
  auto device = stream_devices_.find(row.stream_id);
  return launched_
      .emplace(row.name, number, device == stream_devices_.end() ? DeviceId{} : device->second,
               group)
      .second;
}

StringId RecordJoiner::describeArguments(uint64_t kernel, int64_t stamp) {
  auto it = arguments_.find(kernel);
  if (it == arguments_.end()) return StringId::kNone;
  // Scalars are shown by size, not by value: a loop counter would give each launch its own text.
  std::string text;
  for (const Argument& a : it->second) {
    if (!text.empty()) text += ", ";
    const Object* memory =
        a.bytes == sizeof(uint64_t) && !a.is_local ? memory_.at(a.value, stamp) : nullptr;
    if (memory != nullptr) {
      text += fmt::format("memory {} B", memory->bytes);
    } else if (a.is_local) {
      text += fmt::format("local {} B", a.bytes);
    } else {
      text += fmt::format("{} B", a.bytes);
    }
  }
  return shared_.delta.strings.intern(text);
}

void RecordJoiner::joinArgument(ByteView record) {
  arena::ArgumentRecord r;
  if (!takePart(record, r)) return countDamaged();
  const uint32_t index = r.header.aux;
  if (index >= kMostArguments) return;
  std::vector<Argument>& list = arguments_[r.kernel];
  if (list.size() <= index) list.resize(index + 1);
  list[index] = {r.bytes, r.value, r.is_local != 0};
}

void RecordJoiner::joinTransfer(const CallRecord& call, ByteView rest, uint32_t tid) {
  arena::TransferPart part;
  if (!takePart(rest, part)) return countDamaged();
  writeHostCall(call, tid);
  joinWaits(call, rest, part.wait_count, true);
  PendingRow row{.process_id = process_,
                 .correlation_id = call.correlation,
                 .kind = part.is_fill ? CallKind::kFill : CallKind::kCopy,
                 .sub_kind = part.copy_kind,
                 .thread_id = thread(tid),
                 .stream_id = stream(call.stream, call.start),
                 .bytes = part.bytes,
                 .source = part.source,
                 .destination = part.destination,
                 .call_path_id = stacks_.path(call.stack),
                 .host_start_ns = hostNs(call.start),
                 .host_end_ns = hostNs(call.end)};
  if (call.header.flags & arena::kFlagBlocking) row.flags |= op_flags::kBlocking;
  commandStarted(row);
}

void RecordJoiner::joinSync(const CallRecord& call, ByteView rest, uint32_t tid) {
  arena::SyncPart part;
  if (!takePart(rest, part)) return countDamaged();
  writeHostCall(call, tid);
  const bool device_side = (call.header.flags & arena::kFlagTracked) != 0;
  joinWaits(call, rest, part.wait_count, device_side);
  const auto kind = static_cast<SyncKind>(part.sync_kind);
  if (device_side) {
    commandStarted({.process_id = process_,
                    .correlation_id = call.correlation,
                    .kind = CallKind::kSync,
                    .sub_kind = part.sync_kind,
                    .thread_id = thread(tid),
                    .stream_id = stream(call.stream, call.start),
                    .call_path_id = stacks_.path(call.stack),
                    .host_start_ns = hostNs(call.start),
                    .host_end_ns = hostNs(call.end)});
    return;
  }
  if (call.result != 0 || (kind != SyncKind::kStreamWait && kind != SyncKind::kEventWait)) return;
  shared_.delta.sync.push({.start_ns = hostNs(call.start),
                           .duration_ns = hostNs(call.end) - hostNs(call.start),
                           .kind = kind,
                           .process_id = process_,
                           .thread_id = thread(tid),
                           .stream_id = stream(call.stream, call.start),
                           .correlation_id = call.correlation,
                           .flags = op_flags::kHostSide});
}

void RecordJoiner::joinMemory(const CallRecord& call, ByteView rest, uint32_t tid) {
  arena::MemoryPart part;
  if (!takePart(rest, part)) return countDamaged();
  writeHostCall(call, tid);
  // A sub-buffer is a view of memory that is already counted.
  if ((call.header.flags & arena::kFlagNoEvent) || !shared_.keep_memory) return;
  const ApiFunction* function = apiFunction(call.header.aux);
  shared_.delta.memory_event.push(
      {.time_ns = hostNs(call.end),
       .kind = MemoryKind::kAlloc,
       .process_id = process_,
       .thread_id = thread(tid),
       .context_id = context(part.context, call.start),
       .address = part.handle,
       .bytes = part.bytes,
       .correlation_id = call.correlation,
       .name = function == nullptr ? StringId::kNone : shared_.delta.strings.intern(function->name),
       .call_path_id = stacks_.path(call.stack)});
}

void RecordJoiner::joinFree(ByteView record, uint32_t tid) {
  arena::FreeRecord r;
  if (!takePart(record, r)) return countDamaged();
  if (!shared_.keep_memory) return;
  const Object* memory = memory_.at(r.handle, r.time);
  shared_.delta.memory_event.push(
      {.time_ns = hostNs(r.time),
       .kind = MemoryKind::kFree,
       .process_id = process_,
       .thread_id = thread(tid),
       .context_id = memory == nullptr ? ContextId::kNone : context(memory->parent, r.time),
       .address = r.handle,
       .bytes = memory == nullptr ? 0 : memory->bytes});
}

void RecordJoiner::joinBuild(const CallRecord& call, ByteView rest, uint32_t tid) {
  arena::BuildPart part;
  if (!takePart(rest, part) || rest.size() < part.options_bytes) return countDamaged();
  writeHostCall(call, tid);
  shared_.delta.program_build.push(
      {.start_ns = hostNs(call.start),
       .duration_ns = hostNs(call.end) - hostNs(call.start),
       .kind = static_cast<BuildKind>(part.build_kind),
       .process_id = process_,
       .thread_id = thread(tid),
       .context_id = context(part.context, call.start),
       .correlation_id = call.correlation,
       .program = part.program,
       .result = call.result,
       .log_bytes = part.log_bytes,
       .options = shared_.delta.strings.intern(asText(rest.subspan(0, part.options_bytes))),
       .flags = (call.header.flags & arena::kFlagAsync) ? 1u : 0u});
}

// --- Commands and completions ---------------------------------------------------------------

void RecordJoiner::commandStarted(PendingRow row) {
  auto early = early_.find(row.correlation_id);
  if (early == early_.end()) {
    pending_[row.correlation_id] = {row, false};
    return;
  }
  const Completion done = early->second;
  early_.erase(early);
  complete(row, done);
}

void RecordJoiner::joinComplete(ByteView record) {
  arena::CompleteRecord r;
  if (!takePart(record, r)) return countDamaged();
  const Completion done{.status = static_cast<int32_t>(r.header.aux),
                        .has_times = (r.header.flags & arena::kFlagNoEvent) == 0,
                        .queued = r.queued,
                        .submitted = r.submitted,
                        .started = r.started,
                        .ended = r.ended};
  auto it = pending_.find(r.correlation);
  if (it == pending_.end()) {
    early_[r.correlation] = done;  // its command is in a ring that is read later
    return;
  }
  const PendingRow row = it->second.row;
  pending_.erase(it);
  complete(row, done);
}

void RecordJoiner::complete(const PendingRow& row, const Completion& done) {
  const bool timed = done.has_times && done.ended >= done.started && done.started > 0;
  uint32_t flags = row.flags;
  if (timed) flags |= op_flags::kDeviceClock;
  if (!timed) flags |= op_flags::kNoDeviceTime;
  if (done.status < 0) flags |= op_flags::kFailed;
  const bool queue_times = timed && done.queued > 0 && done.queued <= done.started;
  if (queue_times) flags |= op_flags::kQueueTimes;
  if (timed && done.queued > 0) {
    auto device = stream_devices_.find(row.stream_id);
    if (device != stream_devices_.end() && device->second != DeviceId::kNone) {
      shared_.devices[indexOf(device->second)].clock.observe(row.host_start_ns, row.host_end_ns,
                                                             done.queued, shared_.host_clocks);
    }
  }
  const int64_t start = timed ? done.started : row.host_start_ns;
  const int64_t duration = timed ? done.ended - done.started : 0;
  const int64_t queued_before = queue_times ? done.started - done.queued : 0;
  const int64_t submitted_before =
      queue_times && done.submitted > 0 ? done.started - done.submitted : 0;
  auto fill_in = [&](auto& out) {
    out.start_ns = start;
    out.duration_ns = duration;
    out.process_id = row.process_id;
    out.thread_id = row.thread_id;
    out.stream_id = row.stream_id;
    out.correlation_id = row.correlation_id;
    out.flags = flags;
    out.queued_before_ns = queued_before;
    out.submitted_before_ns = submitted_before;
    out.call_path_id = row.call_path_id;
    out.status = done.status;
  };
  Trace& delta = shared_.delta;
  switch (row.kind) {
    case CallKind::kLaunch: {
      if (!shared_.keep_kernels) return;
      KernelRow out;
      fill_in(out);
      out.name = row.name;
      out.shape_id = row.shape_id;
      out.arguments = row.arguments;
      delta.kernel.push(out);
      ++shared_.kernels;
      return;
    }
    case CallKind::kCopy: {
      if (!shared_.keep_memory) return;
      CopyRow out;
      fill_in(out);
      out.kind = static_cast<CopyKind>(row.sub_kind);
      out.bytes = row.bytes;
      out.source = row.source;
      out.destination = row.destination;
      delta.copy.push(out);
      ++shared_.copies;
      return;
    }
    case CallKind::kFill: {
      if (!shared_.keep_memory) return;
      FillRow out;
      fill_in(out);
      out.bytes = row.bytes;
      out.destination = row.destination;
      delta.fill.push(out);
      return;
    }
    default: {
      SyncRow out;
      fill_in(out);
      out.kind = static_cast<SyncKind>(row.sub_kind);
      delta.sync.push(out);
      return;
    }
  }
}

void RecordJoiner::endPass() {
  kernels_.endPass();
  memory_.endPass();
  streams_.endPass();
  contexts_.endPass();
  command_events_.endPass();
  builds_.endPass();
  mpi_.endPass();
  nccl_.endPass();
  cuda_.endPass();
}

void RecordJoiner::writePending() {
  for (auto& [correlation, pending] : pending_) {
    if (pending.in_file) continue;
    pending.in_file = true;
    shared_.delta.pending.push(pending.row);
  }
  cuda_.writeWaiting();
  nvtx_.writeOpen();
}

}  // namespace tracesmith
