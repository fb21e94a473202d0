// SPDX-License-Identifier: Apache-2.0
// Writes device work as GpuRenderStageEvent packets. Each stream has one sequence per table. So
// rows can be written directly from the columns in row order, if each stream's rows are in time
// order.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/export/perfetto/perfetto_encoder.hpp"

namespace tracesmith::perfetto {
namespace {

// Interned stage ids; queue ids start at kFirstQueueIid in the same id space. The queue id is part
// of a track's identity in trace_processor, so it differs for each stream.
constexpr uint64_t kKernelStage = 1;
constexpr uint64_t kFirstCopyStage = 2;
constexpr uint64_t kFillStage = 16;
constexpr uint64_t kFirstSyncStage = 17;
constexpr uint64_t kFirstQueueIid = 32;

enum ArgName : uint64_t {
  kArgDevice = 1,
  kArgStream,
  kArgBytes,
  kArgRegisters,
  kArgSharedStatic,
  kArgSharedDynamic,
  kArgThreads,
  kArgGlobalX,
  kArgGlobalY,
  kArgGlobalZ,
  kArgFamily,
};
// Argument names that the viewer's GPU pages use. "global_size_*" if the driver chose the group
// size.
constexpr std::string_view kArgNames[] = {"device",
                                          "stream",
                                          "bytes",
                                          "registers_per_thread",
                                          "shared_mem_static",
                                          "shared_mem_dynamic",
                                          "thread_count",
                                          "global_size_x",
                                          "global_size_y",
                                          "global_size_z",
                                          "family"};

constexpr std::string_view kCopyStages[] = {"Copy",
                                            "Copy host to device",
                                            "Copy device to host",
                                            "Copy device to device",
                                            "Copy host to host",
                                            "Copy peer to peer",
                                            "Map",
                                            "Unmap",
                                            "Migrate"};
constexpr std::string_view kSyncStages[] = {"Synchronization", "Marker",      "Barrier",
                                            "Stream wait",     "Device wait", "Event wait",
                                            "Event record",    "Flush"};

template <size_t N>
uint64_t clampedKind(uint64_t kind, const std::string_view (&)[N]) {
  return kind < N ? kind : 0;
}

uint64_t apiOf(PlatformType backend) {
  namespace g = interned::graphics_context;
  switch (backend) {
    case PlatformType::CUDA:
      return g::kCuda;
    case PlatformType::ROCm:
      return g::kHip;
    case PlatformType::OpenCL:
      return g::kOpenCl;
    case PlatformType::Vulkan:
      return g::kVulkan;
    default:
      return 0;
  }
}

void launchArg(proto::Cursor& c, uint64_t name, uint64_t value) {
  c.message<stage::launch::kArgs>([&] {
    c.uint<stage::arg::kNameIid>(name);
    c.uint<stage::arg::kUint>(value);
  });
}

}  // namespace

size_t Encoder::streamIndex(StreamId stream, ProcessId process) const {
  const auto s = static_cast<size_t>(stream);
  if (s != 0 && s <= trace_.stream.size()) return s - 1;
  const auto p = static_cast<size_t>(process);
  return trace_.stream.size() + (p <= trace_.process.size() ? p : 0);
}

void Encoder::prepareStreams() {
  const StreamTable& table = trace_.stream;
  const bool many_processes = trace_.process.size() > 1;
  streams_.resize(table.size() + trace_.process.size() + 1);
  for (size_t i = 0; i < streams_.size(); ++i) {
    Stream& s = streams_[i];
    DeviceId device{};
    std::string name;
    if (i < table.size()) {
      s.process = table.process_id[i];
      device = table.device_id[i];
      s.context = static_cast<uint64_t>(table.context_id[i]);
      s.stream_number = table.ordinal[i];
      name = fmt::format("Stream #{}", s.stream_number);
      const std::string_view given = text(table.name[i]);
      if (!given.empty()) name += fmt::format(" {}", given);
    } else {
      s.process = ProcessId(static_cast<uint32_t>(i - table.size()));
      name = "Unknown stream";
    }
    if (s.context == 0 || s.context > trace_.context.size()) {
      s.context = trace_.context.size() + 1 + static_cast<uint64_t>(s.process);
    }
    const auto d = static_cast<size_t>(device);
    if (d != 0 && d <= trace_.device.size()) {
      s.device = static_cast<uint32_t>(d - 1);
      s.device_number = trace_.device.ordinal[d - 1];
      s.api = apiOf(trace_.device.backend[d - 1]);
      if (s.api == interned::graphics_context::kCuda && trace_.device.compute_major[d - 1] != 0) {
        s.arch = fmt::format("sm_{}{}", trace_.device.compute_major[d - 1],
                             trace_.device.compute_minor[d - 1]);
      }
    }
    if (many_processes && pidOf(s.process) != 0) name += fmt::format(" ({})", pidOf(s.process));
    s.queue_name = std::move(name);
    s.queue_iid = kFirstQueueIid + i;
    proto::append(s.event_prefix, 64, [&](proto::Cursor& c) {
      c.uint<stage::kContext>(s.context);
      if (s.device != 0) c.uint<stage::kGpuId>(s.device);
      c.uint<stage::kQueueIid>(s.queue_iid);
    });
    proto::append(s.args, 64, [&](proto::Cursor& c) {
      launchArg(c, kArgDevice, s.device_number);
      launchArg(c, kArgStream, s.stream_number);
    });
  }
}

/// Encodes the launch message of each shape. It gives groups per dimension, rounded up, because
/// OpenCL 2.0 and later allow partial groups. If the driver chose the group size, it gives the
/// global size instead.
void Encoder::prepareShapes() {
  const LaunchShapeTable& shapes = trace_.launch_shape;
  shapes_.resize(shapes.size() + 1);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto atLeastOne = [](uint64_t n) { return std::max<uint64_t>(n, 1); };
    const uint64_t global[] = {shapes.global_x[i], atLeastOne(shapes.global_y[i]),
                               atLeastOne(shapes.global_z[i])};
    const uint64_t local[] = {shapes.local_x[i], atLeastOne(shapes.local_y[i]),
                              atLeastOne(shapes.local_z[i])};
    const auto groups = [&](int d) {
      return global[d] / local[d] + (global[d] % local[d] != 0 ? 1 : 0);
    };
    proto::append(shapes_[i + 1], 256, [&](proto::Cursor& c) {
      c.message<stage::kLaunch>([&] {
        if (local[0] != 0) {
          c.message<stage::launch::kGrid>([&] {
            c.uint<stage::launch::kX>(groups(0));
            c.uint<stage::launch::kY>(groups(1));
            c.uint<stage::launch::kZ>(groups(2));
          });
          c.message<stage::launch::kWorkgroup>([&] {
            c.uint<stage::launch::kX>(local[0]);
            c.uint<stage::launch::kY>(local[1]);
            c.uint<stage::launch::kZ>(local[2]);
          });
        } else {
          launchArg(c, kArgGlobalX, global[0]);
          if (global[1] > 1) launchArg(c, kArgGlobalY, global[1]);
          if (global[2] > 1) launchArg(c, kArgGlobalZ, global[2]);
        }
        const auto figure = [&](ArgName name, uint64_t value) {
          if (value != 0) launchArg(c, name, value);
        };
        figure(kArgRegisters, shapes.registers_per_thread[i]);
        figure(kArgSharedStatic, shapes.static_shared_bytes[i]);
        figure(kArgSharedDynamic, shapes.dynamic_shared_bytes[i]);
      });
    });
  }
}

void Encoder::openStream(Stream& s, WorkKind kind, int64_t first_ns) {
  Sequence& q = s.sequences[static_cast<size_t>(kind)];
  packets_.open(q, first_ns, 0, 1536 + s.queue_name.size(), [&](proto::Cursor& c) {
    const auto specification = [&](uint64_t iid, std::string_view name, uint64_t category) {
      c.message<interned::kGpuSpecifications>([&] {
        c.uint<interned::kIid>(iid);
        c.text<interned::kName>(name);
        c.uint<interned::specification::kCategory>(category);
      });
    };
    namespace spec = interned::specification;
    c.message<packet::kInternedData>([&] {
      c.message<interned::kGraphicsContexts>([&] {
        c.uint<interned::kIid>(s.context);
        c.uint<interned::graphics_context::kPid>(pidOf(s.process));
        if (s.api != 0) c.uint<interned::graphics_context::kApi>(s.api);
      });
      specification(s.queue_iid, s.queue_name, spec::kOther);
      switch (kind) {
        case WorkKind::kKernel:
          specification(kKernelStage, "Kernel", spec::kCompute);
          break;
        case WorkKind::kCopy:
          for (size_t k = 0; k < std::size(kCopyStages); ++k) {
            specification(kFirstCopyStage + k, kCopyStages[k], spec::kOther);
          }
          break;
        case WorkKind::kFill:
          specification(kFillStage, "Fill", spec::kOther);
          break;
        case WorkKind::kSync:
          for (size_t k = 0; k < std::size(kSyncStages); ++k) {
            specification(kFirstSyncStage + k, kSyncStages[k], spec::kOther);
          }
          break;
      }
      uint64_t iid = 1;
      for (std::string_view name : kArgNames) {
        c.message<interned::kComputeArgNames>([&] {
          c.uint<interned::kIid>(iid++);
          c.text<interned::kName>(name);
        });
      }
    });
  });
}

/// Encodes rare values, and those requested with full_args, as extra data of the event into extra_.
template <class Table>
void Encoder::writeExtras(const Table& table, size_t row) {
  extra_.clear();
  const auto add = [&](std::string_view key, std::string_view value) {
    proto::append(extra_, proto::textBound(key.size()) + proto::textBound(value.size()),
                  [&](proto::Cursor& c) {
                    c.message<stage::kExtraData>([&] {
                      c.text<stage::extra::kName>(key);
                      c.text<stage::extra::kValue>(value);
                    });
                  });
  };
  const uint32_t flags = table.flags[row];
  if (flags & op_flags::kFirstLaunch) add("first_launch", "includes the just-in-time compile");
  if (flags & op_flags::kFailed) add("failed", std::to_string(table.status[row]));
  if (flags & op_flags::kNoDeviceTime) add("device_time", "none: the driver gave no time stamps");
  if (flags & op_flags::kDeviceClock) add("clock", "the device's own: it could not be converted");
  if (flags & op_flags::kSynthetic) synthetic_ = true;
  if (!options_.full_args) return;
  add("correlation_id", std::to_string(table.correlation_id[row]));
  if (flags & op_flags::kQueueTimes) {
    add("queued_before_ns", std::to_string(table.queued_before_ns[row]));
    add("submitted_before_ns", std::to_string(table.submitted_before_ns[row]));
  }
  if constexpr (requires { table.arguments; }) {
    const std::string_view arguments = text(table.arguments[row]);
    if (!arguments.empty()) add("arguments", arguments);
  }
  if constexpr (requires { table.destination; }) {
    if (table.destination[row] != 0) {
      add("destination", fmt::format("{:#x}", table.destination[row]));
    }
  }
  if constexpr (requires { table.source; }) {
    if (table.source[row] != 0) add("source", fmt::format("{:#x}", table.source[row]));
  }
  for (uint32_t a : attributes_.of(Table::kId, row)) {
    const std::string_view key = attributes_.label(trace_, a);
    if (!key.empty()) add(key, text(attributes_.value(a)));
  }
}

/// Inlined into work(), which runs for every row of device work.
[[gnu::always_inline]] inline Encoder::WorkName Encoder::nameOfWork(Sequence& q, WorkKind kind,
                                                                    StringId id) {
  WorkName name;
  name.given = kind == WorkKind::kKernel || id != StringId::kNone;
  name.number = name.given ? names_.of(id) : 0;
  name.fresh = name.given && q.names.insert(name.number);
  if (!name.fresh) return name;
  name.label = text(id);
  name.readable = readable_names_.of(id);
  if (name.label.empty()) name.label = name.readable = "unnamed kernel";
  return name;
}

/// Writes interned data for a name that is new on the sequence.
void Encoder::internWorkName(proto::Cursor& c, const Stream& s, WorkKind kind,
                             const WorkName& name) {
  c.message<packet::kInternedData>([&] {
    c.message<interned::kEventNames>([&] {
      c.uint<interned::kIid>(name.number);
      c.text<interned::kName>(name.readable);
    });
    if (kind != WorkKind::kKernel) return;
    // "device" and "stream" are the same for all launches on this sequence, so they are written
    // once.
    c.message<interned::kComputeKernels>([&] {
      c.uint<interned::kIid>(name.number);
      c.text<interned::kName>(name.label);
      c.text<interned::kernel::kDemangledName>(name.readable);
      if (!s.arch.empty()) c.text<interned::kernel::kArch>(s.arch);
      c.message<interned::kernel::kArgs>([&] {
        c.uint<stage::arg::kNameIid>(kArgDevice);
        c.uint<stage::arg::kUint>(s.device_number);
      });
      c.message<interned::kernel::kArgs>([&] {
        c.uint<stage::arg::kNameIid>(kArgStream);
        c.uint<stage::arg::kUint>(s.stream_number);
      });
      c.message<interned::kernel::kArgs>([&] {
        c.uint<stage::arg::kNameIid>(kArgFamily);
        c.text<stage::arg::kString>(toString(readKernelName(name.label).family));
      });
    });
  });
}

template <class Table>
void Encoder::writeWork(const Table& table, WorkKind kind, size_t row) {
  Stream& s = streams_[streamIndex(table.stream_id[row], table.process_id[row])];
  Sequence& q = s.sequences[static_cast<size_t>(kind)];
  const int64_t start_ns = table.start_ns[row];
  if (q.id == 0) openStream(s, kind, start_ns);

  constexpr uint32_t kRareFlags = op_flags::kFirstLaunch | op_flags::kFailed |
                                  op_flags::kNoDeviceTime | op_flags::kDeviceClock |
                                  op_flags::kSynthetic;
  extra_.clear();
  if (options_.full_args || (table.flags[row] & kRareFlags) != 0) writeExtras(table, row);

  const uint64_t number = work_.number(kind, row);
  const auto waits = links_.waits(number);
  const WorkName name = nameOfWork(q, kind, table.name[row]);
  std::string_view launch;
  if constexpr (Table::kId == TableId::kKernel) {
    const auto shape = static_cast<size_t>(table.shape_id[row]);
    if (shape < shapes_.size()) launch = shapes_[shape];
  }
  const size_t bound = 192 + launch.size() + extra_.size() + waits.size() * 12 +
                       (name.fresh ? 256 + 2 * name.readable.size() + name.label.size() : 0);
  packets_.timed(q, start_ns, bound, [&](proto::Cursor& c) {
    if (name.fresh) internWorkName(c, s, kind, name);
    c.message<packet::kGpuRenderStageEvent>([&] {
      c.uint<stage::kEventId>(number);
      c.uint<stage::kDuration>(static_cast<uint64_t>(std::max<int64_t>(0, table.duration_ns[row])));
      c.raw(s.event_prefix);
      if constexpr (Table::kId == TableId::kKernel) {
        c.uint<stage::kStageIid>(kKernelStage);
        c.uint<stage::kKernelIid>(name.number);
        c.uint<stage::kNameIid>(name.number);
        c.raw(launch);
      } else {
        if constexpr (Table::kId == TableId::kCopy) {
          c.uint<stage::kStageIid>(
              kFirstCopyStage + clampedKind(static_cast<uint64_t>(table.kind[row]), kCopyStages));
        } else if constexpr (Table::kId == TableId::kFill) {
          c.uint<stage::kStageIid>(kFillStage);
        } else {
          c.uint<stage::kStageIid>(
              kFirstSyncStage + clampedKind(static_cast<uint64_t>(table.kind[row]), kSyncStages));
        }
        if (name.given) c.uint<stage::kNameIid>(name.number);
        c.message<stage::kLaunch>([&] {
          c.raw(s.args);
          if constexpr (Table::kId != TableId::kSync) launchArg(c, kArgBytes, table.bytes[row]);
        });
      }
      for (uint32_t from : waits) c.uint<stage::kWaitIds>(from);
      c.raw(extra_);
    });
  });
  ++events_;
}

template <class Table>
void Encoder::writeWorkTable(const Table& table, WorkKind kind) {
  // Rows of streams that are not in time order are sorted separately.
  std::vector<int64_t> last(streams_.size(), std::numeric_limits<int64_t>::min());
  std::vector<bool> sorted(streams_.size(), true);
  bool all_sorted = true;
  for (size_t i = 0; i < table.size(); ++i) {
    if (!isWorkSelected(table, i, selection_)) continue;
    const size_t s = streamIndex(table.stream_id[i], table.process_id[i]);
    if (table.start_ns[i] < last[s]) all_sorted = sorted[s] = false;
    last[s] = table.start_ns[i];
  }
  std::vector<uint32_t> unsorted;
  for (size_t i = 0; i < table.size() && !packets_.output().failed(); ++i) {
    if (!isWorkSelected(table, i, selection_)) continue;
    if (all_sorted || sorted[streamIndex(table.stream_id[i], table.process_id[i])]) {
      writeWork(table, kind, i);
    } else {
      unsorted.push_back(static_cast<uint32_t>(i));
    }
  }
  std::stable_sort(unsorted.begin(), unsorted.end(),
                   [&](uint32_t a, uint32_t b) { return table.start_ns[a] < table.start_ns[b]; });
  for (uint32_t i : unsorted) writeWork(table, kind, i);
}

void Encoder::writeDeviceWork() {
  prepareStreams();
  prepareShapes();
  forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) { writeWorkTable(table, kind); });
}

}  // namespace tracesmith::perfetto
