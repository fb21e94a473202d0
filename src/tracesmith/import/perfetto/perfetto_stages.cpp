// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;
using proto::Field;

/// Kind of a render stage, determined by its name.
enum class StageKind : uint8_t { kKernel, kCopy, kFill, kSync };

struct StageWord {
  std::string_view word;
  StageKind stage{};
  CopyKind copy{};
  SyncKind sync{};
};
// Names from TraceSmith's exporter match exactly; those of other writers match by a word they
// contain.
constexpr std::array kExportedStages = {
    StageWord{"Copy", StageKind::kCopy, CopyKind::kUnknown, {}},
    StageWord{"Copy host to device", StageKind::kCopy, CopyKind::kHostToDevice, {}},
    StageWord{"Copy device to host", StageKind::kCopy, CopyKind::kDeviceToHost, {}},
    StageWord{"Copy device to device", StageKind::kCopy, CopyKind::kDeviceToDevice, {}},
    StageWord{"Copy host to host", StageKind::kCopy, CopyKind::kHostToHost, {}},
    StageWord{"Copy peer to peer", StageKind::kCopy, CopyKind::kPeerToPeer, {}},
    StageWord{"Map", StageKind::kCopy, CopyKind::kMap, {}},
    StageWord{"Unmap", StageKind::kCopy, CopyKind::kUnmap, {}},
    StageWord{"Migrate", StageKind::kCopy, CopyKind::kMigrate, {}},
    StageWord{"Fill", StageKind::kFill, {}, {}},
    StageWord{"Synchronization", StageKind::kSync, {}, SyncKind::kUnknown},
    StageWord{"Marker", StageKind::kSync, {}, SyncKind::kMarker},
    StageWord{"Barrier", StageKind::kSync, {}, SyncKind::kBarrier},
    StageWord{"Stream wait", StageKind::kSync, {}, SyncKind::kStreamWait},
    StageWord{"Device wait", StageKind::kSync, {}, SyncKind::kDeviceWait},
    StageWord{"Event wait", StageKind::kSync, {}, SyncKind::kEventWait},
    StageWord{"Event record", StageKind::kSync, {}, SyncKind::kEventRecord},
    StageWord{"Flush", StageKind::kSync, {}, SyncKind::kFlush},
};

StageWord stageOf(std::string_view name, uint64_t category) {
  for (const StageWord& stage : kExportedStages) {
    if (name == stage.word) return stage;
  }
  if (category == pn::interned::specification::kCompute) return {};
  for (const std::string_view word : {"Memcpy", "MemCpy", "memcpy", "Transfer", "Blit"}) {
    if (name.find(word) != std::string_view::npos) {
      return {name, StageKind::kCopy, copyKindOf(name), {}};
    }
  }
  for (const std::string_view word : {"Memset", "MemSet", "memset"}) {
    if (name.find(word) != std::string_view::npos) return {name, StageKind::kFill, {}, {}};
  }
  return {};
}

PlatformType platformOf(uint64_t api) {
  switch (api) {
    case 2:
      return PlatformType::Vulkan;
    case 3:
      return PlatformType::OpenCL;
    case 4:
      return PlatformType::CUDA;
    case 5:
      return PlatformType::ROCm;
    default:
      return PlatformType::Unknown;
  }
}

uint64_t wholeNumber(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The n of "Stream #n". Leaves in `queue` the name that follows, which the program gave it.
std::optional<int64_t> streamNumber(std::string_view& queue) {
  constexpr std::string_view kPrefix = "Stream #";
  if (queue.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  int64_t number = 0;
  const char* const begin = queue.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(begin, queue.data() + queue.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  queue.remove_prefix(static_cast<size_t>(end - queue.data()));
  if (!queue.empty() && queue.front() == ' ') queue.remove_prefix(1);
  return number;
}

}  // namespace

void PerfettoStages::describeGpus() {
  for (size_t i = 0; i < first_pass_.gpus.size(); ++i) {
    const PerfettoGpu& gpu = first_pass_.gpus[i];
    const auto more = [&](const char* key) {
      const auto it = gpu.more.find(key);
      return it != gpu.more.end() ? std::string_view(it->second) : std::string_view();
    };
    DeviceRow& row = builder_.deviceRow(static_cast<int64_t>(i));
    if (!gpu.name.empty()) row.name = builder_.text(gpu.name);
    row.vendor = builder_.text(gpu.vendor);
    row.uuid = builder_.text(gpu.uuid);
    row.pci_address = builder_.text(gpu.pci_address);
    row.platform = builder_.text(more("platform"));
    row.driver_version = builder_.text(more("driver_version"));
    row.api_version = builder_.text(more("api_version"));
    row.memory_bytes = wholeNumber(more("memory_bytes"));
    row.compute_units = static_cast<uint32_t>(wholeNumber(more("compute_units")));
    row.clock_mhz = static_cast<uint32_t>(wholeNumber(more("clock_mhz")));
    for (int k = 0; k <= static_cast<int>(DeviceKind::kAccelerator); ++k) {
      if (more("kind") == toString(static_cast<DeviceKind>(k))) row.kind = DeviceKind(k);
    }
    for (int k = 0; k <= static_cast<int>(PlatformType::Simulation); ++k) {
      if (more("backend") == toString(static_cast<PlatformType>(k))) row.backend = PlatformType(k);
    }
  }
}

StreamId PerfettoStages::stream(int64_t pid, int64_t gpu, int64_t context, int64_t number,
                                std::string_view queue) {
  const auto [it, fresh] = queues_.try_emplace({pid, gpu, context, std::string(queue)});
  if (!fresh) return it->second;
  std::string_view name = queue;
  const std::string suffix = fmt::format(" ({})", pid);
  const std::optional<int64_t> said = first_pass_.ours ? streamNumber(name) : std::nullopt;
  if (first_pass_.ours && (" " + std::string(name)).ends_with(suffix)) {
    name.remove_suffix(std::min(name.size(), suffix.size()));
  }
  int64_t& queues = queues_of_context_[{pid, gpu, context}];
  if (number < 0) number = said ? *said : queues;
  ++queues;
  it->second = builder_.stream(pid, gpu, context, number);
  if (!name.empty()) builder_.nameStream(it->second, name);
  return it->second;
}

/// Looks up a name by position, for sources without interned data.
StringId PerfettoStages::nameAt(const std::vector<std::string>& names, uint64_t position,
                                std::string_view otherwise) {
  if (position < names.size() && !names[position].empty()) return builder_.text(names[position]);
  return builder_.text(fmt::format(fmt::runtime(otherwise), position));
}

/// A render stage with its references resolved.
struct PerfettoStages::Work {
  PerfettoStageEvent said{};
  int64_t start_ns = 0;
  const PerfettoSequence::Context* context = nullptr;  // nullptr: not interned on the sequence
  int64_t pid = 0;
  PerfettoSequence::Specification stage{};
  StringId queue{};
  StringId kernel{};
  std::map<std::string_view, int64_t> numbers{};  // arguments for columns
  uint64_t correlation = 0;
  StreamId stream{};

  int64_t number(std::string_view key, int64_t otherwise = 0) const {
    const auto it = numbers.find(key);
    return it != numbers.end() ? it->second : otherwise;
  }
  uint64_t bytes() const { return static_cast<uint64_t>(std::max<int64_t>(number("bytes"), 0)); }
};

PerfettoOutcome PerfettoStages::stage(const PerfettoSequence& sequence, std::optional<int64_t> time,
                                      std::string_view bytes) {
  Work work{.said = readStageEvent(sequence, bytes, builder_, spans_)};
  if (!work.said.id) {
    return work.said.specifies ? PerfettoOutcome::kDescription : PerfettoOutcome::kUnusable;
  }
  if (!time) return PerfettoOutcome::kUnusable;
  work.start_ns = *time;
  lookUp(sequence, work);
  keepValues(work);
  if (work.context != nullptr) describeDevice(work);
  place(work);
  kept_.keep(pushRow(work), work.said.kept);
  pushWaits(work);
  builder_.added(1 + work.said.waits.size());
  return PerfettoOutcome::kRow;
}

void PerfettoStages::lookUp(const PerfettoSequence& sequence, Work& work) {
  PerfettoStageEvent& said = work.said;
  if (const auto it = sequence.contexts.find(said.context); it != sequence.contexts.end()) {
    work.context = &it->second;
    work.pid = it->second.pid;
  } else if (const auto pid = first_pass_.specifications.pids.find(said.context);
             pid != first_pass_.specifications.pids.end()) {
    work.pid = pid->second;
  }
  const auto spec = [&](uint64_t iid) {
    const auto it = sequence.specifications.find(iid);
    return it != sequence.specifications.end() ? it->second : PerfettoSequence::Specification{};
  };
  work.stage =
      said.stage_iid
          ? spec(*said.stage_iid)
          : PerfettoSequence::Specification{
                nameAt(first_pass_.specifications.stages, said.stage_id, "render stage({})"), 0};
  work.queue = said.queue_iid ? spec(*said.queue_iid).name
                              : nameAt(first_pass_.specifications.queues, said.queue_id,
                                       "Unknown GPU Queue {}");
  if (const auto it = sequence.kernels.find(said.kernel_iid); it != sequence.kernels.end()) {
    work.kernel = it->second.name;
    said.arguments.insert(said.arguments.end(), it->second.arguments.begin(),
                          it->second.arguments.end());
  }
}

/// Keeps names and arguments beside the row, and extracts numbers for columns.
void PerfettoStages::keepValues(Work& work) {
  KeptEvent& kept = work.said.kept;
  kept.column("name", SourceGap::kName);
  kept.text("stage", work.stage.name);
  kept.text("hw_queue", work.queue);
  if (work.kernel != StringId::kNone && work.said.name != StringId::kNone &&
      work.said.name != work.kernel) {
    kept.text("event_name", work.said.name);  // readable, if the kernel's name is mangled
  }
  kept.integer("event_id", static_cast<int64_t>(*work.said.id));
  kept.open("args");
  for (const PerfettoArgument& a : work.said.arguments) {
    const std::string_view key = builder_.rows.text(a.name);
    if (a.is_text) {
      kept.text(key, a.text);
    } else if (a.is_real) {
      kept.json(key, builder_.text(jsonNumber(a.real)));
    } else {
      kept.integer(key, a.integer);
      work.numbers.emplace(key, a.integer);
    }
  }
  for (const auto& [key, value] : work.said.extra) kept.text(key, value);
  kept.close();
}

void PerfettoStages::describeDevice(const Work& work) {
  DeviceRow& device = builder_.deviceRow(work.said.gpu);
  if (device.backend == PlatformType::Unknown) device.backend = platformOf(work.context->api);
  // gpu_id is an index; TraceSmith's exporter adds the platform's own number.
  if (first_pass_.ours) {
    device.ordinal = static_cast<uint32_t>(work.number("device", work.said.gpu));
  }
}

/// Determines the launching call and the stream.
void PerfettoStages::place(Work& work) {
  const PerfettoStageEvent& said = work.said;
  work.correlation = slices_.correlationOf(*said.id);
  const std::string_view correlation = extraText(said, "correlation_id");
  if (!correlation.empty()) work.correlation = wholeNumber(correlation);
  const int64_t queue_number = said.queue_iid ? -1 : static_cast<int64_t>(said.queue_id);
  work.stream =
      stream(work.pid, said.gpu, static_cast<int64_t>(said.context),
             work.number("stream", queue_number), std::string(builder_.rows.text(work.queue)));
}

std::string_view PerfettoStages::extraText(const PerfettoStageEvent& event,
                                           std::string_view key) const {
  const auto it = event.extra.find(key);
  return it != event.extra.end() ? builder_.rows.text(it->second) : std::string_view();
}

TableId PerfettoStages::pushRow(const Work& work) {
  Trace& rows = builder_.rows;
  const StageWord what = stageOf(rows.text(work.stage.name), work.stage.category);
  switch (what.stage) {
    case StageKind::kKernel:
      break;
    case StageKind::kCopy: {
      auto row = makeRow<CopyRow>(work);
      row.kind = what.copy;
      row.bytes = work.bytes();
      row.name = work.said.name;
      rows.copy.push(row);
      return TableId::kCopy;
    }
    case StageKind::kFill: {
      auto row = makeRow<FillRow>(work);
      row.bytes = work.bytes();
      row.name = work.said.name;
      rows.fill.push(row);
      return TableId::kFill;
    }
    case StageKind::kSync: {
      auto row = makeRow<SyncRow>(work);
      row.kind = what.sync;
      row.name = work.said.name;
      rows.sync.push(row);
      return TableId::kSync;
    }
  }
  auto row = makeRow<KernelRow>(work);
  row.name = work.kernel != StringId::kNone      ? work.kernel
             : work.said.name != StringId::kNone ? work.said.name
                                                 : work.stage.name;
  row.shape_id = launchShape(work);
  rows.kernel.push(row);
  return TableId::kKernel;
}

/// Creates a row with the columns common to all kinds of work.
template <class Row>
Row PerfettoStages::makeRow(const Work& work) {
  const PerfettoStageEvent& said = work.said;
  Row row;
  row.start_ns = work.start_ns;
  row.duration_ns = said.duration_ns;
  row.process_id = builder_.process(work.pid);
  row.thread_id = slices_.submitterOf(*said.id);
  row.stream_id = work.stream;
  row.correlation_id = work.correlation;
  row.call_path_id = slices_.callPathOf(*said.id);
  if (said.hasExtra("first_launch")) row.flags |= op_flags::kFirstLaunch;
  if (said.hasExtra("device_time")) row.flags |= op_flags::kNoDeviceTime;
  if (said.hasExtra("failed")) {
    row.flags |= op_flags::kFailed;
    const std::string_view code = extraText(said, "failed");
    std::from_chars(code.data(), code.data() + code.size(), row.status);
  }
  if (said.hasExtra("queued_before_ns")) {
    row.flags |= op_flags::kQueueTimes;
    row.queued_before_ns = static_cast<int64_t>(wholeNumber(extraText(said, "queued_before_ns")));
    row.submitted_before_ns =
        static_cast<int64_t>(wholeNumber(extraText(said, "submitted_before_ns")));
  }
  return row;
}

/// kNone: the launch size is unknown.
ShapeId PerfettoStages::launchShape(const Work& work) {
  const std::array<uint64_t, 3>& grid = work.said.grid;
  const std::array<uint64_t, 3>& group = work.said.group;
  std::array<uint64_t, 3> global = {static_cast<uint64_t>(work.number("global_size_x")),
                                    static_cast<uint64_t>(work.number("global_size_y")),
                                    static_cast<uint64_t>(work.number("global_size_z"))};
  for (size_t d = 0; d < 3; ++d) {
    if (group[d] > 0 && grid[d] <= UINT64_MAX / group[d]) global[d] = grid[d] * group[d];
  }
  if (global[0] == 0) return ShapeId::kNone;
  LaunchShapeRow shape;
  shape.dimensions = global[2] > 1 ? 3 : global[1] > 1 ? 2 : 1;
  shape.global_x = global[0];
  shape.global_y = std::max<uint64_t>(global[1], 1);
  shape.global_z = std::max<uint64_t>(global[2], 1);
  shape.local_x = static_cast<uint32_t>(group[0]);
  shape.local_y = static_cast<uint32_t>(group[1]);
  shape.local_z = static_cast<uint32_t>(group[2]);
  shape.registers_per_thread = static_cast<uint32_t>(work.number("registers_per_thread"));
  shape.static_shared_bytes = static_cast<uint32_t>(work.number("shared_mem_static"));
  shape.dynamic_shared_bytes = static_cast<uint32_t>(work.number("shared_mem_dynamic"));
  return builder_.shape(shape);
}

void PerfettoStages::pushWaits(const Work& work) {
  for (const uint64_t id : work.said.waits) {
    builder_.rows.flow.push({.process_id = builder_.process(work.pid),
                             .from_correlation_id = slices_.correlationOf(id),
                             .to_correlation_id = work.correlation,
                             .kind = FlowKind::kWait});
  }
}

// --- Memory, frequency, submissions -------------------------------------------------------------

void PerfettoStages::value(CounterTrackId track, int64_t time_ns, double value) {
  builder_.rows.counter.push({.time_ns = time_ns, .track_id = track, .value = value});
  builder_.added();
}

bool PerfettoStages::memory(int64_t time_ns, std::string_view bytes) {
  int64_t gpu = 0;
  int64_t pid = 0;
  uint64_t size = 0;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::gpu_memory::kGpuId) gpu = static_cast<int32_t>(f.value);
    if (f.number == pn::gpu_memory::kPid) pid = static_cast<int32_t>(f.value);
    if (f.number == pn::gpu_memory::kSize) size = f.value;
  });
  value(builder_.counterTrack({.name = builder_.text("GPU memory"),
                               .unit = builder_.text("bytes"),
                               .process_id = pid != 0 ? builder_.process(pid) : ProcessId::kNone,
                               .device_id = builder_.device(gpu)}),
        time_ns, static_cast<double>(size));
  return true;
}

bool PerfettoStages::frequency(int64_t time_ns, std::string_view bytes) {
  int64_t gpu = 0;
  uint64_t kilohertz = 0;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::gpu_frequency::kGpuId) gpu = static_cast<int32_t>(f.value);
    if (f.number == pn::gpu_frequency::kKilohertz) kilohertz = f.value;
  });
  value(builder_.counterTrack({.name = builder_.text("GPU frequency"),
                               .unit = builder_.text("kHz"),
                               .device_id = builder_.device(gpu)}),
        time_ns, static_cast<double>(kilohertz));
  return true;
}

bool PerfettoStages::hasSubmission(std::string_view vulkan_event) {
  bool any = false;
  proto::forEachField(vulkan_event,
                      [&](const Field& f) { any = any || f.number == pn::vulkan::kQueueSubmit; });
  return any;
}

bool PerfettoStages::vulkan(int64_t time_ns, std::string_view bytes) {
  namespace pv = pn::vulkan;
  bool any = false;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number != pv::kQueueSubmit) return;
    int64_t pid = 0;
    int64_t tid = 0;
    HostCallRow row = {
        .start_ns = time_ns, .name = builder_.text("vkQueueSubmit"), .kind = CallKind::kLaunch};
    KeptEvent kept;
    kept.column("ts", SourceGap::kTimeNanos);
    kept.column("dur", SourceGap::kDurationNanos);
    kept.column("name", SourceGap::kName);
    proto::forEachField(f.bytes, [&](const Field& g) {
      if (g.number == pv::kDuration) row.duration_ns = readDuration(g.value, spans_, kept);
      if (g.number == pv::kPid) pid = static_cast<int32_t>(g.value);
      if (g.number == pv::kTid) tid = static_cast<int32_t>(g.value);
      if (g.number == pv::kQueue) kept.integer("vk_queue", static_cast<int64_t>(g.value));
      if (g.number == pv::kCommandBuffers) {
        kept.integer("vk_command_buffer", static_cast<int64_t>(g.value));
      }
      if (g.number == pv::kSubmission) kept.integer("submission_id", static_cast<int64_t>(g.value));
    });
    row.process_id = builder_.process(pid);
    row.thread_id = builder_.thread(pid, tid);
    builder_.rows.host_call.push(row);
    kept_.keep(TableId::kHostCall, kept);
    builder_.added();
    any = true;
  });
  return any;
}

}  // namespace tracesmith::import
