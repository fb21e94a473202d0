// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_tracks.hpp"

#include <simdjson.h>

#include <algorithm>

#include "tracesmith/model/track_groups.hpp"

namespace tracesmith::import {
namespace {

/// The number at the start of `raw`, after spaces; `missing` if there is none.
int64_t firstNumber(std::string_view raw, int64_t missing) {
  while (!raw.empty() && static_cast<uint8_t>(raw.front()) <= ' ') raw.remove_prefix(1);
  return JsonToken{.raw = raw.substr(0, raw.find_first_not_of("0123456789+-.eE"))}.integer(missing);
}

/// Element `index` of a JSON list of numbers, or of {"x": …, "y": …, "z": …}; 1 if there is none.
int64_t dimension(std::string_view raw, size_t index) {
  const char next = raw.substr(0, 1) == "{" ? ':' : ',';
  size_t at = next == ':' ? raw.find(':') : raw.find('[');
  for (size_t i = 0; at != std::string_view::npos && i < index; ++i) at = raw.find(next, at + 1);
  return at == std::string_view::npos ? 1 : firstNumber(raw.substr(at + 1), 1);
}

/// Checks a number of a launch; 0 if it is out of range.
uint32_t launchNumber(int64_t number) {
  return number >= 0 && number <= INT32_MAX ? static_cast<uint32_t>(number) : 0;
}

/// The number in member `name` of a JSON object; 0 if there is none.
int64_t memberOf(std::string_view raw, std::string_view name) {
  const size_t at = raw.find("\"" + std::string(name) + "\"");
  const size_t colon = at == std::string_view::npos ? at : raw.find(':', at);
  return colon == std::string_view::npos ? 0 : firstNumber(raw.substr(colon + 1), 0);
}

/// Whether a "process" label says that its tracks belong to a device: "GPU 3", "NPU".
bool labelsDevice(std::string_view label) {
  for (const std::string_view kind : {"GPU", "NPU", "XPU", "HPU", "TPU", "MLU", "MTIA"}) {
    if (label.starts_with(kind)) {
      const std::string_view rest = label.substr(kind.size());
      return rest.empty() || rest.front() == ' ';
    }
  }
  return false;
}

}  // namespace

ChromeTracks::ChromeTracks(Trace& delta, ChromeDialect dialect) : delta_(delta), dialect_(dialect) {
  if (dialect == ChromeDialect::kAscend) platform_ = PlatformType::Ascend;
  if (dialect == ChromeDialect::kMcTracer) platform_ = PlatformType::MACA;
}

ProcessId ChromeTracks::process(const JsonToken& pid) {
  if (pid.raw == last_pid_ && last_process_ != ProcessId::kNone) return last_process_;
  last_pid_ = pid.raw;
  const auto known = processes_.find(pid.raw);
  if (known != processes_.end()) return last_process_ = known->second;
  const auto id = idAt<ProcessId>(processes_.size());
  processes_.emplace(pid.raw, id);
  ProcessRow row{.id = id};
  const int64_t number = pid.integer(-1);
  if (number >= 0 && number <= UINT32_MAX) {
    row.pid = static_cast<uint32_t>(number);
  } else {
    row.command_line = text(pid);
    row.flags = process_flags::kTrackGroup;  // such as PyTorch's "Spans" and "Traces"
  }
  row.seen_by = delta_.strings.intern("import");
  delta_.process.push(row);
  process_rows_.push_back(row);
  return last_process_ = id;
}

ThreadId ChromeTracks::thread(ProcessId process, const JsonToken& tid) {
  const bool integer = tid.type == JsonType::kInteger;
  ThreadSlot& slot =
      thread_slots_[(static_cast<uint64_t>(tid.value) * 31 + static_cast<uint32_t>(process)) %
                    kCacheSlots];
  if (integer && slot.id != ThreadId::kNone && slot.process == process && slot.tid == tid.value) {
    return slot.id;
  }
  const auto [it, fresh] = threads_.try_emplace({process, std::string(tid.raw)});
  if (fresh) {
    it->second = idAt<ThreadId>(threads_.size() - 1);
    process_of_.push_back(process);
    ThreadRow row{.id = it->second, .process_id = process};
    const int64_t number = tid.integer(INT64_MIN);
    if (number == INT64_MIN) {
      row.name = text(tid);
    } else {
      row.tid = systemNumber(number);
    }
    delta_.thread.push(row);
  }
  if (integer) slot = {process, tid.value, it->second};
  return it->second;
}

DeviceId ChromeTracks::device(const JsonToken& number) {
  return number.integer(-1) < 0 ? DeviceId::kNone : device(numberOf(number, -1));
}

DeviceId ChromeTracks::device(int64_t ordinal) {
  const auto [it, fresh] = devices_.try_emplace(ordinal);
  DeviceRow& row = it->second;
  if (fresh) {
    const std::string_view name = nameOf(ordinal);
    row.id = idAt<DeviceId>(devices_.size() - 1);
    row.kind = DeviceKind::kGpu;
    row.ordinal = device_ordinals_.of(ordinal);
    row.name = delta_.strings.intern(name.empty() ? "device " + std::to_string(ordinal)
                                                  : std::string(name));
    delta_.device.push(row);
  }
  return row.id;
}

/// The number of a device or stream. If the value is not a usable number, generates one for its
/// text. Returns `missing` if there is no value.
int64_t ChromeTracks::numberOf(const JsonToken& token, int64_t missing) {
  if (token.raw.empty()) return missing;
  int64_t number = 0;
  if (token.nanoseconds(1, number) && isNumber(number)) return number;
  const auto [it, fresh] = generated_.try_emplace(
      std::string(token.raw), kFirstNamed - static_cast<int64_t>(generated_.size()));
  if (fresh) generated_names_.push_back(it->first);
  return it->second;
}

std::string_view ChromeTracks::nameOf(int64_t number) const {
  const int64_t at = kFirstNamed - number;
  const bool is_generated = at >= 0 && at < static_cast<int64_t>(generated_names_.size());
  return is_generated ? std::string_view(generated_names_[static_cast<size_t>(at)])
                      : std::string_view();
}

/// Streams of the profiled process are looked up without a process id, which may not be known yet;
/// settle() fills it in at the end.
StreamId ChromeTracks::stream(ProcessId owner, int64_t device_ordinal, int64_t context,
                              int64_t number) {
  if (owner == main_process_) owner = ProcessId::kNone;
  StreamSlot& slot =
      stream_slots_[(static_cast<uint64_t>(device_ordinal) * 61 + static_cast<uint64_t>(number) +
                     static_cast<uint32_t>(owner) * 7) %
                    kCacheSlots];
  if (slot.id != StreamId::kNone && slot.device == device_ordinal && slot.number == number &&
      slot.process == owner) {
    return slot.id;
  }
  const DeviceId on = device(device_ordinal);
  const auto [it, fresh] = streams_.try_emplace({owner, on, number});
  slot = {device_ordinal, number, owner, it->second.id};
  if (!fresh) return it->second.id;
  it->second.id = slot.id = idAt<StreamId>(streams_.size() - 1);
  const auto [in, new_context] = contexts_.try_emplace({owner, on, context});
  if (new_context) {
    in->second = {.id = idAt<ContextId>(contexts_.size() - 1),
                  .process_id = owner,
                  .handle = static_cast<uint64_t>(context),
                  .device_id = on};
    delta_.context.push(in->second);
  }
  it->second.process_id = owner;
  it->second.context_id = in->second.id;
  it->second.device_id = on;
  if (const std::string_view name = nameOf(number); !name.empty()) {
    it->second.name = delta_.strings.intern(name);
  } else {
    it->second.handle = static_cast<uint64_t>(number);
  }
  it->second.ordinal = stream_ordinals_.of(number);
  delta_.stream.push(it->second);
  return it->second.id;
}

ShapeId ChromeTracks::launchShape(const ChromeEvent& event) {
  const JsonToken& grid = event[EventField::kArgGrid];
  if (!grid) return ShapeId::kNone;
  const JsonToken& block = event[EventField::kArgBlock];
  const JsonToken& shared = event[EventField::kArgSharedMemory];
  const JsonToken& registers = event[EventField::kArgRegisters];
  const JsonToken& memory = event[EventField::kArgMemory];  // mcTracer: an object with all of them
  room_ = grid.raw;
  for (const JsonToken* part : {&block, &shared, &registers, &memory}) {
    room_.append("|").append(part->raw);
  }
  const size_t before = launch_shapes_.size();
  const auto id = ShapeId{static_cast<uint32_t>(launch_shapes_.intern(room_))};
  if (launch_shapes_.size() == before) return id;
  const auto local = [&](size_t i) { return launchNumber(dimension(block.raw, i)); };
  const auto global = [&](size_t i) {
    return uint64_t{launchNumber(dimension(grid.raw, i))} * local(i);
  };
  delta_.launch_shape.push(
      {.dimensions = 3,
       .global_x = global(0),
       .global_y = global(1),
       .global_z = global(2),
       .local_x = local(0),
       .local_y = local(1),
       .local_z = local(2),
       .static_shared_bytes =
           launchNumber(memory ? memberOf(memory.raw, "static_shared") : shared.integer()),
       .dynamic_shared_bytes = launchNumber(memberOf(memory.raw, "dynamic_shared")),
       .registers_per_thread = launchNumber(memory ? memberOf(memory.raw, "registers_per_thread")
                                                   : registers.integer())});
  return id;
}

uint64_t correlationOf(const ChromeEvent& event) {
  return static_cast<uint64_t>(std::max<int64_t>(event[EventField::kArgCorrelation].integer(), 0));
}

void ChromeTracks::noteLaunch(uint64_t correlation, ProcessId process, ThreadId thread) {
  if (main_process_ == ProcessId::kNone) main_process_ = process;
  if (correlation == 0) return;
  if (!written_.empty()) late_ += written_.erase(correlation);
  const auto [it, fresh] = launched_by_.try_emplace(correlation, thread);
  if (!fresh && it->second != ThreadId::kNone && process_of_[indexOf(it->second)] != process) {
    it->second = ThreadId::kNone;  // ambiguous: the thread cannot be determined
    ++ambiguous_;
  }
}

ChromeTracks::Work ChromeTracks::workOf(const ChromeEvent& event) {
  Work place;
  place.correlation = correlationOf(event);
  const auto launch = launched_by_.find(place.correlation);
  place.process = main_process_;
  if (place.correlation != 0 && launch != launched_by_.end() && launch->second != ThreadId::kNone) {
    place.thread = launch->second;
    place.process = process_of_[indexOf(launch->second)];
  }
  const JsonToken& ordinal = event[EventField::kArgDevice];
  const JsonToken& number = event[EventField::kArgStream];
  int64_t device_ordinal = numberOf(ordinal ? ordinal : event[EventField::kProcess], -1);
  if (!ordinal && event[EventField::kArgTaskType]) {
    if (platform_ == PlatformType::Unknown) platform_ = PlatformType::Ascend;
    // The pid is generated for display. If a label "NPU n" precedes the event, that gives the
    // device.
    const auto [npu, fresh] = npus_.try_emplace(std::string(event[EventField::kProcess].raw));
    if (fresh) {
      while (!known_npus_.insert(next_npu_).second) ++next_npu_;
      npu->second = next_npu_;
    }
    device_ordinal = npu->second;
  } else if (!ordinal && dialect_ == ChromeDialect::kMcTracer) {
    device_ordinal = 0;  // its kernels' arguments do not name the device
  }
  place.stream = stream(place.process, device_ordinal, event[EventField::kArgContext].integer(),
                        numberOf(number ? number : event[EventField::kThread], -1));
  return place;
}

StreamId ChromeTracks::waitedStream(const ChromeEvent& event, ProcessId owner) {
  const JsonToken& number = event[EventField::kArgWaitStream];
  const JsonToken& ordinal = event[EventField::kArgDevice];
  if (number.integer(-1) < 0 || !ordinal) return StreamId::kNone;
  return stream(owner, numberOf(ordinal, -1), event[EventField::kArgContext].integer(),
                numberOf(number, -1));
}

void ChromeTracks::name(const ChromeEvent& event) {
  const JsonToken& given = event[EventField::kArgName];
  const std::string_view what = event[EventField::kName].raw;
  if (what == "process_labels") {
    const int64_t npu = ascendDevice(event[EventField::kArgLabels].raw);
    if (npu >= 0) {
      npus_[std::string(event[EventField::kProcess].raw)] = npu;
      known_npus_.insert(npu);
    }
    if (labelsDevice(event[EventField::kArgLabels].raw)) {
      groupOfTracks(process(event[EventField::kProcess]));
    }
  }
  if (!given) return;
  if (what == "process_name") {
    const ProcessId id = process(event[EventField::kProcess]);
    ProcessRow& row = process_rows_[indexOf(id)];
    row.command_line = text(given);
    // XLA's name for the plane of a device; its pid is generated.
    if (given.raw.starts_with("/device:")) row.flags |= process_flags::kTrackGroup;
    delta_.process.push(row);
  } else if (what == "thread_name") {
    const ProcessId in = process(event[EventField::kProcess]);
    delta_.thread.push({.id = thread(in, event[EventField::kThread]),
                        .process_id = in,
                        .tid = systemNumber(event[EventField::kThread].integer()),
                        .name = text(given)});
  }
}

void ChromeTracks::groupOfTracks(ProcessId id) {
  ProcessRow& row = process_rows_[indexOf(id)];
  if ((row.flags & process_flags::kTrackGroup) != 0) return;
  row.flags |= process_flags::kTrackGroup;
  delta_.process.push(row);
}

void ChromeTracks::member(std::string_view name, std::string_view raw) {
  if (name.find("hip_") == 0 || name.find("roctracer") == 0) platform_ = PlatformType::ROCm;
  if (name.find("cuda_") == 0 || name.find("cupti") == 0) platform_ = PlatformType::CUDA;
  if (name != "deviceProperties") return;
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(simdjson::padded_string(raw)).get(list)) return;
  for (const simdjson::dom::element element : list) {
    simdjson::dom::object properties;
    int64_t ordinal = 0;
    if (element.get(properties) || properties["id"].get(ordinal) || !isNumber(ordinal)) continue;
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
    row.registers_per_unit = number("regsPerMultiprocessor");
    row.shared_bytes_per_unit =
        std::max(number("sharedMemPerMultiprocessor"), number("maxSharedMemoryPerMultiProcessor"));
    delta_.device.push(row);
  }
}

void ChromeTracks::findLateLaunches() {
  const auto find = [&](auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (table.thread_id[i] != ThreadId::kNone) continue;
      const auto launch = launched_by_.find(table.correlation_id[i]);
      if (launch != launched_by_.end() && launch->second != ThreadId::kNone) {
        table.thread_id[i] = launch->second;
        table.process_id[i] = process_of_[indexOf(launch->second)];
        continue;
      }
      if (table.process_id[i] == ProcessId::kNone) {
        table.process_id[i] = mainProcess();
      }
      if (launch == launched_by_.end() && table.correlation_id[i] != 0) {
        written_.insert(table.correlation_id[i]);
      }
    }
  };
  find(delta_.kernel);
  find(delta_.copy);
  find(delta_.fill);
  find(delta_.sync);
  for (size_t i = 0; i < delta_.flow.size(); ++i) {
    const auto launch = launched_by_.find(delta_.flow.to_correlation_id[i]);
    if (launch != launched_by_.end() && launch->second != ThreadId::kNone) {
      delta_.flow.process_id[i] = process_of_[indexOf(launch->second)];
    } else if (delta_.flow.process_id[i] == ProcessId::kNone) {
      delta_.flow.process_id[i] = main_process_;
    }
  }
}

void ChromeTracks::settle() {
  for (auto& [ordinal, row] : devices_) {
    if (row.backend == platform_) continue;
    row.backend = platform_;
    delta_.device.push(row);
  }
  for (auto& [key, row] : contexts_) {
    if (row.process_id != ProcessId::kNone) continue;
    row.process_id = main_process_;
    delta_.context.push(row);
  }
  for (auto& [key, row] : streams_) {
    if (row.process_id != ProcessId::kNone) continue;
    row.process_id = main_process_;
    delta_.stream.push(row);
  }
}

}  // namespace tracesmith::import
