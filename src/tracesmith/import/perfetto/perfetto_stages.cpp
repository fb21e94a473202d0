// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
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

/// What a render stage is, by its name.
enum class StageKind : uint8_t { kKernel, kCopy, kFill, kSync };

struct StageWord {
  std::string_view word;
  StageKind stage{};
  CopyKind copy{};
  SyncKind sync{};
};
// The exporter's names are whole; other writers are known by a word within.
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

/// The n of "Stream #n"; what follows is the name that the program gave it.
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
  for (size_t i = 0; i < survey_.gpus.size(); ++i) {
    const PerfettoGpu& gpu = survey_.gpus[i];
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
  const std::optional<int64_t> said = survey_.ours ? streamNumber(name) : std::nullopt;
  if (survey_.ours && (" " + std::string(name)).ends_with(suffix)) {
    name.remove_suffix(std::min(name.size(), suffix.size()));
  }
  int64_t& queues = queues_of_context_[{pid, gpu, context}];
  if (number < 0) number = said ? *said : queues;
  ++queues;
  it->second = builder_.stream(pid, gpu, context, number);
  if (!name.empty()) builder_.nameStream(it->second, name);
  return it->second;
}

/// What no work takes is kept beside the row.
int64_t PerfettoStages::durationOf(uint64_t said_ns, KeptEvent& kept) {
  const int64_t duration_ns = spans_.lasting(static_cast<int64_t>(said_ns));
  if (duration_ns == 0 && said_ns != 0) kept.integer("duration", static_cast<int64_t>(said_ns));
  return duration_ns;
}

/// Names by position, as sources without interned data have them.
StringId PerfettoStages::nameAt(const std::vector<std::string>& names, uint64_t position,
                                std::string_view otherwise) {
  if (position < names.size() && !names[position].empty()) return builder_.text(names[position]);
  return builder_.text(fmt::format(fmt::runtime(otherwise), position));
}

PerfettoOutcome PerfettoStages::stage(const PerfettoSequence& sequence, std::optional<int64_t> time,
                                      std::string_view bytes) {
  namespace ps = pn::stage;
  std::optional<uint64_t> event_id;
  int64_t duration_ns = 0;
  int64_t gpu = 0;
  uint64_t context_number = 0;
  std::optional<uint64_t> queue_iid;
  std::optional<uint64_t> stage_iid;
  uint64_t queue_id = 0;
  uint64_t stage_id = 0;
  bool specifies = false;
  uint64_t kernel_iid = 0;
  StringId name{};
  std::vector<uint64_t> waits;
  std::vector<PerfettoArgument> arguments;
  std::array<uint64_t, 3> grid = {0, 0, 0};
  std::array<uint64_t, 3> group = {0, 0, 0};
  std::map<std::string, StringId, std::less<>> extra;
  KeptEvent kept;
  kept.column("ts", SourceGap::kTimeNanos);
  kept.column("dur", SourceGap::kDurationNanos);
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case ps::kEventId:
        event_id = f.value;
        break;
      case ps::kDuration:
        duration_ns = durationOf(f.value, kept);
        break;
      case ps::kContext:
        context_number = f.value;
        break;
      case ps::kGpuId:
        gpu = static_cast<int32_t>(f.value);
        break;
      case ps::kQueueId:
        queue_id = static_cast<uint32_t>(f.value);
        break;
      case ps::kStageId:
        stage_id = static_cast<uint32_t>(f.value);
        break;
      case ps::kSpecifications:
        specifies = true;  // the survey has read them
        break;
      case ps::kQueueIid:
        queue_iid = f.value;
        break;
      case ps::kStageIid:
        stage_iid = f.value;
        break;
      case ps::kName:
        name = builder_.text(f.bytes);
        break;
      case ps::kNameIid: {
        const auto it = sequence.event_names.find(f.value);
        if (it != sequence.event_names.end() && name == StringId::kNone) name = it->second;
        break;
      }
      case ps::kKernelIid:
        kernel_iid = f.value;
        break;
      case ps::kWaits:
        for (uint64_t id : packedVarints(f.wire_type, f.value, f.bytes)) waits.push_back(id);
        break;
      case ps::kLaunch:
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == ps::launch::kArgs) {
            arguments.push_back(sequence.argument(g.bytes, builder_));
          } else if (g.number == ps::launch::kGrid || g.number == ps::launch::kWorkgroup) {
            auto& dimensions = g.number == ps::launch::kGrid ? grid : group;
            proto::forEachField(g.bytes, [&](const Field& h) {
              if (h.number >= 1 && h.number <= 3) dimensions[h.number - 1] = h.value;
            });
          }
        });
        break;
      case ps::kExtra: {
        std::string key;
        StringId value{};
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == ps::kExtraName) key = g.bytes;
          if (g.number == ps::kExtraValue) value = builder_.text(g.bytes);
        });
        extra[key] = value;
        break;
      }
      default:
        keepUnknownField(f, "", builder_, kept);
    }
  });
  if (!event_id) return specifies ? PerfettoOutcome::kDescription : PerfettoOutcome::kUnusable;
  if (!time) return PerfettoOutcome::kUnusable;
  const int64_t time_ns = *time;

  const auto context = sequence.contexts.find(context_number);
  int64_t pid = 0;
  if (context != sequence.contexts.end()) {
    pid = context->second.pid;
  } else if (const auto it = survey_.specifications.pids.find(context_number);
             it != survey_.specifications.pids.end()) {
    pid = it->second;
  }
  const auto spec = [&](uint64_t iid) {
    const auto it = sequence.specifications.find(iid);
    return it != sequence.specifications.end() ? it->second : PerfettoSequence::Specification{};
  };
  const PerfettoSequence::Specification stage =
      stage_iid ? spec(*stage_iid)
                : PerfettoSequence::Specification{
                      nameAt(survey_.specifications.stages, stage_id, "render stage({})"), 0};
  const StringId queue =
      queue_iid ? spec(*queue_iid).name
                : nameAt(survey_.specifications.queues, queue_id, "Unknown GPU Queue {}");
  StringId kernel{};
  if (const auto it = sequence.kernels.find(kernel_iid); it != sequence.kernels.end()) {
    kernel = it->second.name;
    arguments.insert(arguments.end(), it->second.arguments.begin(), it->second.arguments.end());
  }

  // What columns want of the arguments; the rest is kept beside the row.
  std::map<std::string_view, int64_t> numbers;
  kept.column("name", SourceGap::kName);
  kept.text("stage", stage.name);
  kept.text("hw_queue", queue);
  if (kernel != StringId::kNone && name != StringId::kNone && name != kernel) {
    kept.text("event_name", name);  // readable, where the kernel's is mangled
  }
  kept.integer("event_id", static_cast<int64_t>(*event_id));
  kept.open("args");
  for (const PerfettoArgument& a : arguments) {
    const std::string_view key = builder_.rows.text(a.name);
    if (a.is_text) {
      kept.text(key, a.text);
    } else if (a.is_real) {
      kept.json(key, builder_.text(jsonNumber(a.real)));
    } else {
      kept.integer(key, a.integer);
      numbers.emplace(key, a.integer);
    }
  }
  for (const auto& [key, value] : extra) kept.text(key, value);
  kept.close();
  const auto number = [&](std::string_view key, int64_t otherwise = 0) {
    const auto it = numbers.find(key);
    return it != numbers.end() ? it->second : otherwise;
  };
  const auto word = [&](std::string_view key) {
    const auto it = extra.find(key);
    return it != extra.end() ? builder_.rows.text(it->second) : std::string_view();
  };

  if (context != sequence.contexts.end()) {
    DeviceRow& device = builder_.deviceRow(gpu);
    if (device.backend == PlatformType::Unknown) device.backend = platformOf(context->second.api);
    // gpu_id counts them; the exporter says which number the platform gives it.
    if (survey_.ours) device.ordinal = static_cast<uint32_t>(number("device", gpu));
  }
  uint64_t correlation = slices_.correlationOf(*event_id);
  if (!word("correlation_id").empty()) correlation = wholeNumber(word("correlation_id"));
  const int64_t queue_number = queue_iid ? -1 : static_cast<int64_t>(queue_id);
  const StreamId on =
      stream(pid, gpu, static_cast<int64_t>(context_number), number("stream", queue_number),
             std::string(builder_.rows.text(queue)));
  const auto common = [&](auto row) {
    row.start_ns = time_ns;
    row.duration_ns = duration_ns;
    row.process_id = builder_.process(pid);
    row.thread_id = slices_.submitterOf(*event_id);
    row.stream_id = on;
    row.correlation_id = correlation;
    row.call_path_id = slices_.callPathOf(*event_id);
    if (extra.count("first_launch") > 0) row.flags |= op_flags::kFirstLaunch;
    if (extra.count("device_time") > 0) row.flags |= op_flags::kNoDeviceTime;
    if (extra.count("failed") > 0) {
      row.flags |= op_flags::kFailed;
      const std::string_view code = word("failed");
      std::from_chars(code.data(), code.data() + code.size(), row.status);
    }
    if (extra.count("queued_before_ns") > 0) {
      row.flags |= op_flags::kQueueTimes;
      row.queued_before_ns = static_cast<int64_t>(wholeNumber(word("queued_before_ns")));
      row.submitted_before_ns = static_cast<int64_t>(wholeNumber(word("submitted_before_ns")));
    }
    return row;
  };
  const auto size = [&] { return static_cast<uint64_t>(std::max<int64_t>(number("bytes"), 0)); };
  Trace& rows = builder_.rows;
  const StageWord what = stageOf(rows.text(stage.name), stage.category);
  TableId table = TableId::kKernel;
  switch (what.stage) {
    case StageKind::kKernel: {
      KernelRow row = common(KernelRow{});
      row.name = kernel != StringId::kNone ? kernel : name != StringId::kNone ? name : stage.name;
      LaunchShapeRow shape;
      std::array<uint64_t, 3> global = {static_cast<uint64_t>(number("global_size_x")),
                                        static_cast<uint64_t>(number("global_size_y")),
                                        static_cast<uint64_t>(number("global_size_z"))};
      for (size_t d = 0; d < 3; ++d) {
        if (group[d] > 0 && grid[d] <= UINT64_MAX / group[d]) global[d] = grid[d] * group[d];
      }
      if (global[0] > 0) {
        shape.dimensions = global[2] > 1 ? 3 : global[1] > 1 ? 2 : 1;
        shape.global_x = global[0];
        shape.global_y = std::max<uint64_t>(global[1], 1);
        shape.global_z = std::max<uint64_t>(global[2], 1);
        shape.local_x = static_cast<uint32_t>(group[0]);
        shape.local_y = static_cast<uint32_t>(group[1]);
        shape.local_z = static_cast<uint32_t>(group[2]);
        shape.registers_per_thread = static_cast<uint32_t>(number("registers_per_thread"));
        shape.static_shared_bytes = static_cast<uint32_t>(number("shared_mem_static"));
        shape.dynamic_shared_bytes = static_cast<uint32_t>(number("shared_mem_dynamic"));
        row.shape_id = builder_.shape(shape);
      }
      rows.kernel.push(row);
      break;
    }
    case StageKind::kCopy: {
      table = TableId::kCopy;
      CopyRow row = common(CopyRow{});
      row.kind = what.copy;
      row.bytes = size();
      row.name = name;
      rows.copy.push(row);
      break;
    }
    case StageKind::kFill: {
      table = TableId::kFill;
      FillRow row = common(FillRow{});
      row.bytes = size();
      row.name = name;
      rows.fill.push(row);
      break;
    }
    case StageKind::kSync: {
      table = TableId::kSync;
      SyncRow row = common(SyncRow{});
      row.kind = what.sync;
      row.name = name;
      rows.sync.push(row);
      break;
    }
  }
  kept_.keep(table, kept);
  for (const uint64_t id : waits) {
    rows.flow.push({.process_id = builder_.process(pid),
                    .from_correlation_id = slices_.correlationOf(id),
                    .to_correlation_id = correlation,
                    .kind = FlowKind::kWait});
  }
  builder_.added(1 + waits.size());
  return PerfettoOutcome::kRow;
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
      if (g.number == pv::kDuration) row.duration_ns = durationOf(g.value, kept);
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
