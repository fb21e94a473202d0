// SPDX-License-Identifier: Apache-2.0
// Turns CUPTI's records of device work into rows of the trace.
#include <fmt/format.h>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/join/recorded_cuda.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith {
namespace {

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

/// CUpti_ActivityMemoryKind.
std::string_view memoryKindText(uint32_t kind) {
  constexpr std::string_view kTexts[] = {
      "memory", "pageable memory", "pinned memory",        "device memory",
      "array",  "managed memory",  "static device memory", "static managed memory"};
  return kTexts[kind < std::size(kTexts) ? kind : 0];
}

}  // namespace

/// False when another tool has set CUPTI's clock: the time then lies in the future. After a resume,
/// possibly after a reboot, the last reading of CUPTI's clock is used as the present.
bool RecordedCuda::isOfOurClock(int64_t time) {
  constexpr int64_t kSlackNs = 1'000'000'000;
  constexpr int64_t kSlackAfterReadingNs = 10'000'000'000;
  if (!shared_.is_live && last_clock_ns_ == 0) return true;
  const int64_t latest =
      shared_.is_live ? monotonicNs() + kSlackNs : last_clock_ns_ + kSlackAfterReadingNs;
  if (cuptiNs(time) <= latest) return true;
  ++totals_.other_clock;
  return false;
}

/// Whether the work has times. The device had no space for the times of some work, which is counted
/// but has no row.
bool RecordedCuda::timed(int64_t start, int64_t end) {
  if (start > 0 && end >= start) return isOfOurClock(end);
  ++totals_.untimed;
  return false;
}

void RecordedCuda::writeKernel(const arena::CudaKernelRecord& k, const Call& call) {
  if (!shared_.keep_kernels) return;
  if (!timed(k.start, k.end)) {
    if (k.graph_node == 0) noteNoDeviceWork(k.correlation);
    return;
  }
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
  const int64_t start_ns = cuptiNs(k.start);
  KernelRow row{.start_ns = start_ns,
                .duration_ns = cuptiNs(k.end) - start_ns,
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
  // Valid times are positive; those of a damaged record may not be.
  if (k.queued > 0 && k.submitted > 0) {
    row.flags |= op_flags::kQueueTimes;
    row.queued_before_ns = start_ns - cuptiNs(k.queued);
    row.submitted_before_ns = start_ns - cuptiNs(k.submitted);
  }
  shared_.delta.kernel.push(row);
}

void RecordedCuda::writeCopy(const arena::CudaCopyRecord& c, const Call& call) {
  if (!shared_.keep_memory || !timed(c.start, c.end)) return;
  ++shared_.copies;
  CudaLife& of = life(c.correlation);
  of.noteContext(c.context, c.device);
  const int64_t start_ns = cuptiNs(c.start);
  DeviceId source{}, destination{};
  if (c.devices != 0) {
    source = of.device(arena::sourceDevice(c.devices));
    destination = of.device(arena::destinationDevice(c.devices));
  }
  shared_.delta.copy.push({.start_ns = start_ns,
                           .duration_ns = cuptiNs(c.end) - start_ns,
                           .kind = copyKind(c.header.flags),
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = of.stream(c.context, c.stream),
                           .correlation_id = c.correlation,
                           .bytes = c.bytes,
                           .call_path_id = call.path,
                           .source_device_id = source,
                           .destination_device_id = destination});
}

void RecordedCuda::writeFill(const arena::CudaFillRecord& f, const Call& call) {
  if (!shared_.keep_memory || !timed(f.start, f.end)) return;
  CudaLife& of = life(f.correlation);
  of.noteContext(f.context, f.device);
  const int64_t start_ns = cuptiNs(f.start);
  shared_.delta.fill.push({.start_ns = start_ns,
                           .duration_ns = cuptiNs(f.end) - start_ns,
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = of.stream(f.context, f.stream),
                           .correlation_id = f.correlation,
                           .bytes = f.bytes,
                           .call_path_id = call.path});
}

/// A graph traced as a whole has no kernels in the trace. One row stands for all of them, so that
/// the device is busy while the graph runs.
void RecordedCuda::writeGraph(const arena::CudaGraphRecord& g, const Call& call) {
  if (!shared_.keep_kernels || !timed(g.start, g.end)) return;
  ++shared_.kernels;
  CudaLife& of = life(g.correlation);
  const bool on_device = g.device != arena::kHostNode && g.context != arena::kHostNode;
  if (on_device) of.noteContext(g.context, g.device);
  const int64_t start_ns = cuptiNs(g.start);
  shared_.delta.kernel.push(
      {.start_ns = start_ns,
       .duration_ns = cuptiNs(g.end) - start_ns,
       .name =
           shared_.delta.strings.intern(fmt::format("CUDA graph {} (as a whole)", g.header.aux)),
       .process_id = process_,
       .thread_id = call.thread,
       .stream_id = on_device ? of.stream(g.context, g.stream) : StreamId::kNone,
       .correlation_id = g.correlation,
       .call_path_id = call.path});
}

void RecordedCuda::writeSync(const arena::CudaSyncRecord& s, const Call& call) {
  if (!timed(s.start, s.end)) return;
  const int64_t start_ns = cuptiNs(s.start);
  const SyncKind kind = syncKind(s.header.flags);
  shared_.delta.sync.push({.start_ns = start_ns,
                           .duration_ns = cuptiNs(s.end) - start_ns,
                           .kind = kind,
                           .process_id = process_,
                           .thread_id = call.thread,
                           .stream_id = s.stream == kNoStream
                                            ? StreamId::kNone
                                            : life(s.correlation).stream(s.context, s.stream),
                           .correlation_id = s.correlation,
                           .flags = kind == SyncKind::kBarrier ? 0 : op_flags::kHostSide,
                           .call_path_id = call.path});
  if (kind != SyncKind::kBarrier && kind != SyncKind::kEventWait) return;
  const auto life_number = static_cast<uint32_t>(s.correlation / cuda_file::kIdsOfLife);
  events_.addWait({s.correlation, {life_number, s.context, s.event}, s.event_sync}, start_ns,
                  cuptiNs(s.end));
}

void RecordedCuda::addEventRecording(const arena::CudaEventRecord& e) {
  const auto life_number = static_cast<uint32_t>(e.correlation / cuda_file::kIdsOfLife);
  events_.addRecording({e.correlation, {life_number, e.context, e.header.aux}, e.event_sync},
                       life(e.correlation).stream(e.context, e.stream));
}

void RecordedCuda::writeMemory(const arena::CudaMemoryRecord& m, const Call& call) {
  if (!shared_.keep_memory || !isOfOurClock(m.time)) return;
  constexpr uint32_t kNone = ~0u;
  CudaLife& of = life(m.correlation);
  // Host memory belongs to no device.
  const bool on_device = m.context != 0 && m.context != kNone && m.device != kNone;
  std::string what(memoryKindText(m.header.aux));
  if (m.pool != 0) what += fmt::format(" of the pool 0x{:x}", m.pool);
  if (on_device) of.noteContext(m.context, m.device);
  shared_.delta.memory_event.push(
      {.time_ns = cuptiNs(m.time),
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
       .name = shared_.delta.strings.intern(what),
       .call_path_id = call.path});
  if (m.pool == 0 || (m.pool_bytes == 0 && m.pool_used == 0)) return;
  writePoolSizes(cuptiNs(m.time), on_device ? of.device(m.device) : DeviceId::kNone, m.pool,
                 m.pool_bytes, m.pool_used);
}

void RecordedCuda::writeJit(const arena::CudaJitRecord& j, const Call& call) {
  if (!timed(j.start, j.end)) return;
  // CUpti_ActivityJitEntryType, CUpti_ActivityJitOperationType.
  const std::string_view what = j.header.aux == 1   ? "PTX to cubin"
                                : j.header.aux == 2 ? "NVVM IR to PTX"
                                                    : "unknown";
  const std::string_view how = j.header.flags == 1   ? ", from the cache"
                               : j.header.flags == 2 ? ", into the cache"
                                                     : "";
  const int64_t start_ns = cuptiNs(j.start);
  shared_.delta.program_build.push(
      {.start_ns = start_ns,
       .duration_ns = cuptiNs(j.end) - start_ns,
       .kind = BuildKind::kCompile,
       .process_id = process_,
       .thread_id = call.thread,
       .correlation_id = j.correlation,
       .options = shared_.delta.strings.intern(fmt::format("{}{}", what, how))});
}

/// Two counters for each pool: its size, and the used part.
void RecordedCuda::writePoolSizes(int64_t time_ns, DeviceId device, uint64_t address,
                                  uint64_t bytes, uint64_t used) {
  StringTable& strings = shared_.delta.strings;
  const auto count = [&](std::string_view what, uint64_t value) {
    const CounterTrackId track =
        shared_.counterTrack({.name = strings.intern(fmt::format("pool 0x{:x} {}", address, what)),
                              .unit = strings.intern("bytes"),
                              .process_id = process_,
                              .device_id = device});
    shared_.delta.counter.push(
        {.time_ns = time_ns, .track_id = track, .value = static_cast<double>(value)});
  };
  count("reserved", bytes);
  count("used", used);
}

/// CUpti_ActivityMemoryPoolOperationType, CUpti_ActivityMemoryPoolType.
void RecordedCuda::writePool(const arena::CudaPoolRecord& p, const Call& call) {
  if (!shared_.keep_memory) return;
  if (p.time <= 0) {
    ++totals_.untimed;
    return;
  }
  if (!isOfOurClock(p.time)) return;
  constexpr std::string_view kNames[] = {"pool", "pool created", "pool destroyed", "pool trimmed"};
  constexpr uint8_t kDestroyed = 2;
  constexpr uint8_t kTrimmed = 3;
  constexpr uint32_t kOfThisProcess = 1;
  const auto operation = p.header.flags;
  const int64_t time_ns = cuptiNs(p.time);
  const DeviceId device = life(p.correlation).device(p.header.aux);
  StringTable& strings = shared_.delta.strings;
  attributeOfRange("pool", fmt::format("0x{:x}", p.address));
  attributeOfRange("device", std::to_string(p.header.aux));
  if (p.pool_kind == kOfThisProcess) {
    attributeOfRange("bytes", std::to_string(p.bytes));
    attributeOfRange("used", std::to_string(p.used));
    attributeOfRange("release_threshold", std::to_string(p.release_threshold));
  } else {
    attributeOfRange("of", "another process");
  }
  if (operation == kTrimmed) attributeOfRange("kept", std::to_string(p.kept_bytes));
  shared_.delta.range.push(
      {.start_ns = time_ns,
       .kind = RangeKind::kInstant,
       .name = strings.intern(kNames[operation < std::size(kNames) ? operation : 0]),
       .category = strings.intern("memory pools"),
       .process_id = process_,
       .thread_id = call.thread,
       .correlation_id = p.correlation,
       .call_path_id = call.path});
  if (p.pool_kind != kOfThisProcess) return;
  const bool gone = operation == kDestroyed;
  writePoolSizes(time_ns, device, p.address, gone ? 0 : p.bytes, gone ? 0 : p.used);
}

/// A module was loaded, or its unloading started. For its duration see the host call.
void RecordedCuda::writeModule(const arena::CudaModuleRecord& m, ThreadId thread) {
  StringTable& strings = shared_.delta.strings;
  const bool unload = (m.header.flags & arena::kFlagUnload) != 0;
  const bool in_call = (m.header.flags & arena::kFlagInCall) != 0;
  attributeOfRange("module", std::to_string(m.module));
  if (m.context != ~0u) attributeOfRange("context", std::to_string(m.context));
  attributeOfRange("bytes", std::to_string(m.bytes));
  shared_.delta.range.push(
      {.start_ns = host_ns_(m.time),
       .kind = RangeKind::kInstant,
       .name = strings.intern(unload ? "module unload" : "module load"),
       .category = strings.intern("CUDA modules"),
       .process_id = process_,
       .thread_id = thread,
       .correlation_id = in_call ? m.correlation : 0,
       .call_path_id = stacks_.withoutVendorFrames(stacks_.path(m.header.aux))});
}

/// CUpti_ActivityOverheadKind: additional work of the driver, and CUPTI's own work.
void RecordedCuda::writeOverhead(const arena::CudaOverheadRecord& o, const Call& call) {
  if (!timed(o.start, o.end)) return;
  constexpr std::string_view kDriver = "CUDA driver overhead";
  constexpr std::string_view kCupti = "CUPTI overhead";
  constexpr struct {
    uint32_t kind;
    std::string_view category;
    std::string_view name;
  } kKinds[] = {{1, kDriver, "compilation"},
                {1u << 16, kCupti, "activity buffer flush"},
                {2u << 16, kCupti, "instrumentation"},
                {3u << 16, kCupti, "resources"},
                {4u << 16, kDriver, "module loading triggered by the runtime"},
                {5u << 16, kDriver, "lazy function loading"},
                {6u << 16, kDriver, "command buffer full"},
                {7u << 16, kCupti, "activity buffer request"},
                {8u << 16, kCupti, "unified memory initialisation"}};
  std::string_view category = kCupti;
  std::string_view name = "overhead";
  for (const auto& known : kKinds) {
    if (known.kind != o.header.aux) continue;
    category = known.category;
    name = known.name;
  }
  const int64_t start_ns = cuptiNs(o.start);
  StringTable& strings = shared_.delta.strings;
  shared_.delta.range.push({.start_ns = start_ns,
                            .duration_ns = cuptiNs(o.end) - start_ns,
                            .kind = RangeKind::kRange,
                            .name = strings.intern(name),
                            .category = strings.intern(category),
                            .process_id = process_,
                            .thread_id = call.thread,
                            .correlation_id = o.correlation,
                            .call_path_id = call.path});
}

/// Adds an attribute to the range that is pushed next.
void RecordedCuda::attributeOfRange(std::string_view key, const std::string& value) {
  StringTable& strings = shared_.delta.strings;
  shared_.delta.attribute.push({.table = static_cast<uint32_t>(TableId::kRange),
                                .row_number = shared_.nextRange(),
                                .key = strings.intern(key),
                                .value = strings.intern(value)});
}

/// CUpti_ActivityUnifiedMemoryCounterKind.
void RecordedCuda::writeUnified(const arena::CudaUnifiedRecord& u) {
  if (!shared_.keep_memory) return;
  if (u.start <= 0) {
    ++totals_.untimed;
    return;
  }
  const int64_t start_ns = cuptiNs(u.start);
  const int64_t duration_ns = u.end > u.start ? cuptiNs(u.end) - start_ns : 0;
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
  // The end of a CPU page fault is unknown.
  const bool instant = u.header.flags == 3 || duration_ns == 0;
  attributeOfRange("address", fmt::format("0x{:x}", u.address));
  if (u.header.flags == 4) attributeOfRange("faults", std::to_string(u.value));
  shared_.delta.range.push(
      {.start_ns = start_ns,
       .duration_ns = instant ? 0 : duration_ns,
       .kind = instant ? RangeKind::kInstant : RangeKind::kRange,
       .name = strings.intern(kNames[u.header.flags < std::size(kNames) ? u.header.flags : 0]),
       .category = strings.intern("unified memory"),
       .process_id = process_});
}

}  // namespace tracesmith
