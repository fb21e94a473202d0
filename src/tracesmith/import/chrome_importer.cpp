// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome_importer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "tracesmith/import/chrome_categories.hpp"
#include "tracesmith/import/chrome_event.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {
namespace {

constexpr int64_t kMicrosecond = 1000;
constexpr size_t kPortionRows = 1u << 18;  // two blocks of a table
constexpr size_t kLongestMember = 4u << 20;

class ChromeImporter {
 public:
  ChromeImporter(TraceWriter& writer, Trace delta) : writer_(writer), delta_(std::move(delta)) {}

  void member(std::string_view name, std::string_view raw);
  simdjson::error_code event(simdjson::ondemand::object& object);
  Status finish(const std::vector<JsonDamage>& damage);
  const Status& status() const { return status_; }
  ImportCounts counts;

 private:
  // What "pid" and "tid" stand for.
  ProcessId process(const JsonToken& pid);
  ThreadId thread(ProcessId process, const JsonToken& tid);
  DeviceId device(int64_t ordinal);
  StreamId stream(ProcessId owner, int64_t device_ordinal, int64_t context, int64_t number);
  StringId text(const JsonToken& token);
  ShapeId shape();

  struct Place {
    StreamId stream{};
    ProcessId process{};
    ThreadId thread{};
    uint64_t correlation = 0;
  };
  Place deviceSide();
  void complete(int64_t start_ns, int64_t duration_ns);
  void counter(int64_t time_ns);
  void name();
  void losses(const std::vector<JsonDamage>& damage);
  void portion();
  static int64_t dimension(std::string_view raw, size_t index);

  TraceWriter& writer_;
  Trace delta_;
  Status status_;
  ChromeEvent e_;
  std::string room_;
  size_t rows_ = 0;
  int64_t base_ns_ = 0;
  PlatformType platform_ = PlatformType::Unknown;
  ProcessId main_process_{};

  std::map<std::string, ProcessId, std::less<>> processes_;
  std::map<std::pair<ProcessId, std::string>, ThreadId> threads_;
  std::map<int64_t, DeviceRow> devices_;
  std::map<std::pair<DeviceId, int64_t>, ContextId> contexts_;
  std::map<std::pair<DeviceId, int64_t>, StreamId> streams_;
  std::map<std::string, ShapeId, std::less<>> shapes_;
  std::map<std::string, CounterTrackId, std::less<>> tracks_;
  std::unordered_map<uint64_t, ThreadId> launched_by_;  // correlation id to thread
  std::unordered_map<uint32_t, ProcessId> process_of_;  // of threads
};

StringId ChromeImporter::text(const JsonToken& token) {
  return delta_.strings.intern(textOf(token, room_));
}

ProcessId ChromeImporter::process(const JsonToken& pid) {
  const auto known = processes_.find(pid.raw);
  if (known != processes_.end()) return known->second;
  const auto id = idAt<ProcessId>(processes_.size());
  processes_.emplace(pid.raw, id);
  ProcessRow row{.id = id};
  const int64_t number = pid.integer(-1);
  if (number >= 0 && number <= UINT32_MAX) {
    row.pid = static_cast<uint32_t>(number);
  } else {
    row.command_line = text(pid);
  }
  row.seen_by = delta_.strings.intern("import");
  delta_.process.push(row);
  return id;
}

ThreadId ChromeImporter::thread(ProcessId process, const JsonToken& tid) {
  const auto [it, fresh] = threads_.try_emplace({process, std::string(tid.raw)});
  if (!fresh) return it->second;
  it->second = idAt<ThreadId>(threads_.size() - 1);
  process_of_[static_cast<uint32_t>(it->second)] = process;
  ThreadRow row{.id = it->second, .process_id = process};
  const int64_t number = tid.integer(INT64_MIN);
  if (number == INT64_MIN) {
    row.name = text(tid);
  } else {
    row.tid = static_cast<uint32_t>(number);
  }
  delta_.thread.push(row);
  return it->second;
}

DeviceId ChromeImporter::device(int64_t ordinal) {
  const auto [it, fresh] = devices_.try_emplace(ordinal);
  DeviceRow& row = it->second;
  if (fresh) {
    row.id = idAt<DeviceId>(devices_.size() - 1);
    row.backend = platform_;
    row.kind = DeviceKind::kGpu;
    row.ordinal = static_cast<uint32_t>(ordinal);
    row.name = delta_.strings.intern("device " + std::to_string(ordinal));
    delta_.device.push(row);
  }
  return row.id;
}

StreamId ChromeImporter::stream(ProcessId owner, int64_t device_ordinal, int64_t context,
                                int64_t number) {
  const DeviceId on = device(device_ordinal);
  const auto [it, fresh] = streams_.try_emplace({on, number});
  if (!fresh) return it->second;
  it->second = idAt<StreamId>(streams_.size() - 1);
  const auto [in, new_context] = contexts_.try_emplace({on, context});
  if (new_context) {
    in->second = idAt<ContextId>(contexts_.size() - 1);
    delta_.context.push({.id = in->second,
                         .process_id = owner,
                         .handle = static_cast<uint64_t>(context),
                         .device_id = on});
  }
  delta_.stream.push({.id = it->second,
                      .process_id = owner,
                      .context_id = in->second,
                      .device_id = on,
                      .handle = static_cast<uint64_t>(number),
                      .ordinal = static_cast<uint32_t>(number)});
  return it->second;
}

/// Element `index` of a list of numbers, as it stands in the document; 1 where there is none.
int64_t ChromeImporter::dimension(std::string_view raw, size_t index) {
  size_t at = raw.find('[');
  for (size_t i = 0; at != std::string_view::npos && i < index; ++i) at = raw.find(',', at + 1);
  if (at == std::string_view::npos) return 1;
  ++at;
  while (at < raw.size() && static_cast<uint8_t>(raw[at]) <= ' ') ++at;
  return JsonToken{.raw = raw.substr(at)}.integer(1);
}

/// The launch shape that the arguments tell; none where they tell of no grid.
ShapeId ChromeImporter::shape() {
  const JsonToken grid = e_.argument("grid");
  if (!grid) return ShapeId::kNone;
  const JsonToken block = e_.argument("block");
  const JsonToken shared = e_.argument("shared memory");
  const JsonToken registers = e_.argument("registers per thread");
  std::string key(grid.raw);
  for (const JsonToken& part : {block, shared, registers}) key.append("|").append(part.raw);
  const auto [it, fresh] = shapes_.try_emplace(key);
  if (!fresh) return it->second;
  it->second = idAt<ShapeId>(shapes_.size() - 1);
  const auto local = [&](size_t i) { return static_cast<uint32_t>(dimension(block.raw, i)); };
  const auto global = [&](size_t i) {
    return static_cast<uint64_t>(dimension(grid.raw, i)) * local(i);
  };
  delta_.launch_shape.push({.dimensions = 3,
                            .global_x = global(0),
                            .global_y = global(1),
                            .global_z = global(2),
                            .local_x = local(0),
                            .local_y = local(1),
                            .local_z = local(2),
                            .static_shared_bytes = static_cast<uint32_t>(shared.integer()),
                            .registers_per_thread = static_cast<uint32_t>(registers.integer())});
  return it->second;
}

ChromeImporter::Place ChromeImporter::deviceSide() {
  Place place;
  place.correlation =
      static_cast<uint64_t>(std::max<int64_t>(e_.argument("correlation").integer(), 0));
  const auto launch = launched_by_.find(place.correlation);
  place.process = main_process_;
  if (place.correlation != 0 && launch != launched_by_.end()) {
    place.thread = launch->second;
    place.process = process_of_[static_cast<uint32_t>(launch->second)];
  }
  const JsonToken ordinal = e_.argument("device");
  const JsonToken number = e_.argument("stream");
  place.stream =
      stream(place.process, ordinal ? ordinal.integer(-1) : e_.process.integer(-1),
             e_.argument("context").integer(), number ? number.integer(-1) : e_.thread.integer(-1));
  return place;
}

void ChromeImporter::complete(int64_t start_ns, int64_t duration_ns) {
  const std::string_view category = e_.category.raw;
  const ChromeKind kind = kindOf(category);
  switch (kind) {
    case ChromeKind::kKernel: {
      const Place at = deviceSide();
      delta_.kernel.push({.start_ns = start_ns,
                          .duration_ns = duration_ns,
                          .name = text(e_.name),
                          .process_id = at.process,
                          .thread_id = at.thread,
                          .stream_id = at.stream,
                          .correlation_id = at.correlation,
                          .shape_id = shape()});
      return;
    }
    case ChromeKind::kCopy: {
      const Place at = deviceSide();
      delta_.copy.push({.start_ns = start_ns,
                        .duration_ns = duration_ns,
                        .kind = copyKindOf(e_.name.raw),
                        .process_id = at.process,
                        .thread_id = at.thread,
                        .stream_id = at.stream,
                        .correlation_id = at.correlation,
                        .bytes = static_cast<uint64_t>(e_.argument("bytes").integer()),
                        .name = text(e_.name)});
      return;
    }
    case ChromeKind::kFill: {
      const Place at = deviceSide();
      delta_.fill.push({.start_ns = start_ns,
                        .duration_ns = duration_ns,
                        .process_id = at.process,
                        .thread_id = at.thread,
                        .stream_id = at.stream,
                        .correlation_id = at.correlation,
                        .bytes = static_cast<uint64_t>(e_.argument("bytes").integer()),
                        .name = text(e_.name)});
      return;
    }
    case ChromeKind::kSync: {
      const Place at = deviceSide();
      delta_.sync.push({.start_ns = start_ns,
                        .duration_ns = duration_ns,
                        .kind = syncKindOf(e_.name.raw),
                        .process_id = at.process,
                        .thread_id = at.thread,
                        .stream_id = at.stream,
                        .correlation_id = at.correlation,
                        .name = text(e_.name)});
      return;
    }
    case ChromeKind::kHostCall: {
      const ProcessId in = process(e_.process);
      const ThreadId by = thread(in, e_.thread);
      if (main_process_ == ProcessId::kNone) main_process_ = in;
      const auto correlation =
          static_cast<uint64_t>(std::max<int64_t>(e_.argument("correlation").integer(), 0));
      if (correlation != 0) launched_by_.emplace(correlation, by);
      delta_.host_call.push({.start_ns = start_ns,
                             .duration_ns = duration_ns,
                             .name = text(e_.name),
                             .process_id = in,
                             .thread_id = by,
                             .correlation_id = correlation,
                             .kind = callKindOf(e_.name.raw)});
      return;
    }
    case ChromeKind::kDeviceRange: {
      const Place at = deviceSide();
      delta_.range.push({.start_ns = start_ns,
                         .duration_ns = duration_ns,
                         .kind = RangeKind::kRange,
                         .name = text(e_.name),
                         .category = text(e_.category),
                         .process_id = at.process,
                         .stream_id = at.stream});
      return;
    }
    case ChromeKind::kHostRange: {
      const ProcessId in = process(e_.process);
      delta_.range.push({.start_ns = start_ns,
                         .duration_ns = duration_ns,
                         .kind = RangeKind::kRange,
                         .name = text(e_.name),
                         .category = text(e_.category),
                         .process_id = in,
                         .thread_id = thread(in, e_.thread)});
      return;
    }
  }
}

/// A value for each argument that is a number.
void ChromeImporter::counter(int64_t time_ns) {
  const ProcessId in = process(e_.process);
  std::string title(textOf(e_.name, room_));
  for (const ChromeArgument& a : e_.arguments) {
    if (a.value.type != simdjson::ondemand::json_type::number) continue;
    std::string key = title;
    if (e_.arguments.size() > 1) key.append(" ").append(a.key);
    const auto [it, fresh] =
        tracks_.try_emplace(std::to_string(static_cast<uint32_t>(in)) + " " + key);
    if (fresh) {
      it->second = idAt<CounterTrackId>(tracks_.size() - 1);
      delta_.counter_track.push({.name = delta_.strings.intern(key), .process_id = in});
    }
    delta_.counter.push({.time_ns = time_ns,
                         .track_id = it->second,
                         .value = std::strtod(std::string(a.value.raw).c_str(), nullptr)});
    ++rows_;
  }
}

/// Names of processes and threads.
void ChromeImporter::name() {
  const JsonToken given = e_.argument("name");
  if (e_.name.raw == "process_name" && given) {
    const ProcessId id = process(e_.process);
    const int64_t number = e_.process.integer(-1);
    delta_.process.push(
        {.id = id,
         .pid = number > 0 && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0,
         .command_line = text(given),
         .seen_by = delta_.strings.intern("import")});
  } else if (e_.name.raw == "thread_name" && given) {
    const ProcessId in = process(e_.process);
    delta_.thread.push({.id = thread(in, e_.thread),
                        .process_id = in,
                        .tid = static_cast<uint32_t>(e_.thread.integer()),
                        .name = text(given)});
  }
}

simdjson::error_code ChromeImporter::event(simdjson::ondemand::object& object) {
  if (const simdjson::error_code error = e_.parse(object)) return error;
  ++counts.events;
  int64_t time_ns = 0;
  const bool number =
      e_.time && (e_.time.raw[0] == '-' || (e_.time.raw[0] >= '0' && e_.time.raw[0] <= '9'));
  if (!number || __builtin_add_overflow(base_ns_, e_.time.nanoseconds(kMicrosecond), &time_ns)) {
    e_.time = {};  // no time: not a row
  }
  const size_t before = rows_;
  switch (e_.phase) {
    case 'X':
      if (!e_.time) break;
      complete(time_ns, std::max<int64_t>(e_.duration.nanoseconds(kMicrosecond), 0));
      ++rows_;
      break;
    case 'i':
    case 'I':
    case 'R':
    case 'B':
    case 'E': {
      if (!e_.time) break;
      const ProcessId in = process(e_.process);
      delta_.range.push({.start_ns = time_ns,
                         .kind = e_.phase == 'B'   ? RangeKind::kBegin
                                 : e_.phase == 'E' ? RangeKind::kEnd
                                                   : RangeKind::kInstant,
                         .name = text(e_.name),
                         .category = text(e_.category),
                         .process_id = in,
                         .thread_id = thread(in, e_.thread)});
      ++rows_;
      break;
    }
    case 'C':
      if (e_.time) counter(time_ns);
      break;
    case 'M':
      name();
      ++counts.metadata;
      return simdjson::SUCCESS;
    case 's':
    case 't':
    case 'f':
      ++counts.flows;
      return simdjson::SUCCESS;
    default:
      break;
  }
  if (rows_ == before) {
    ++counts.skipped;
  } else {
    ++counts.rows;
  }
  if (rows_ >= kPortionRows) portion();
  return simdjson::SUCCESS;
}

void ChromeImporter::member(std::string_view name, std::string_view raw) {
  if (name == "baseTimeNanoseconds") base_ns_ = JsonToken{.raw = raw}.integer();
  if (name.find("hip_") == 0 || name.find("roctracer") == 0) platform_ = PlatformType::ROCm;
  if (name.find("cuda_") == 0 || name.find("cupti") == 0) platform_ = PlatformType::CUDA;
  if (raw.size() <= kLongestMember) {
    delta_.setMetadata("source." + std::string(name), raw);
  }
  if (name != "deviceProperties") return;
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(simdjson::padded_string(raw)).get(list)) return;
  for (const simdjson::dom::element element : list) {
    simdjson::dom::object properties;
    int64_t ordinal = 0;
    if (element.get(properties) || properties["id"].get(ordinal)) continue;
    const auto number = [&](const char* key) {
      uint64_t value = 0;
      return properties[key].get(value) ? uint64_t{0} : value;
    };
    std::string_view title;
    if (properties["name"].get(title)) title = {};
    if (properties["maxSharedMemoryPerMultiProcessor"].error() == simdjson::SUCCESS) {
      platform_ = PlatformType::ROCm;
    } else if (platform_ == PlatformType::Unknown && title.find("NVIDIA") != title.npos) {
      platform_ = PlatformType::CUDA;
    }
    device(ordinal);
    DeviceRow& row = devices_[ordinal];
    row.backend = platform_;
    row.name = delta_.strings.intern(title);
    row.memory_bytes = number("totalGlobalMem");
    row.compute_units = static_cast<uint32_t>(number("numSms"));
    row.max_work_group_size = static_cast<uint32_t>(number("maxThreadsPerBlock"));
    row.warp_size = static_cast<uint32_t>(number("warpSize"));
    row.compute_major = static_cast<uint32_t>(number("computeMajor"));
    row.compute_minor = static_cast<uint32_t>(number("computeMinor"));
    row.max_threads_per_unit = static_cast<uint32_t>(number("maxThreadsPerMultiprocessor"));
    delta_.device.push(row);
  }
}

void ChromeImporter::portion() {
  if (status_) status_ = writer_.write(delta_);
  forEachTable(delta_, [](auto& table) { table.clear(); });
  rows_ = 0;
}

/// What the trace itself says of what is missing in it.
void ChromeImporter::losses(const std::vector<JsonDamage>& damage) {
  uint64_t bytes = 0;
  for (const JsonDamage& d : damage) bytes += d.bytes;
  std::string reason;
  if (!damage.empty()) {
    reason = std::to_string(bytes) + " bytes in " + std::to_string(damage.size()) +
             " places of the source could not be used, first: " + damage.front().reason;
  }
  if (counts.flows > 0) {
    reason += (reason.empty() ? "" : "; ") + std::to_string(counts.flows) +
              " arrows, of which correlation ids tell those between launches and their work";
  }
  if (counts.skipped > 0) {
    reason += (reason.empty() ? "" : "; ") + std::to_string(counts.skipped) +
              " events of no known kind or without a time";
  }
  delta_.loss.push({.id = LossId{1},
                    .source = delta_.strings.intern("import"),
                    .emitted = counts.events,
                    .written = counts.rows + counts.metadata,
                    .dropped = counts.flows + counts.skipped,
                    .reason = delta_.strings.intern(reason)});
}

Status ChromeImporter::finish(const std::vector<JsonDamage>& damage) {
  losses(damage);
  portion();
  return status_;
}

}  // namespace

Result<ImportCounts> importChromeJson(ByteSource& source, TraceWriter& writer, Trace delta) {
  JsonEvents events(source);
  ChromeImporter importer(writer, std::move(delta));
  const Status read =
      events.run([&](std::string_view name, std::string_view raw) { importer.member(name, raw); },
                 [&](simdjson::ondemand::object& object) {
                   const simdjson::error_code error = importer.event(object);
                   if (!importer.status()) events.stop();  // a full disk, say
                   return error;
                 });
  if (!importer.status()) return tl::unexpected<Error>(importer.status().error());
  if (!read) return tl::unexpected<Error>(read.error());
  TS_CHECK_OK(importer.finish(events.damage()));
  importer.counts.bytes = events.documentBytes();
  importer.counts.damage = events.damage();
  return importer.counts;
}

}  // namespace tracesmith::import
