// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/chrome_categories.hpp"
#include "tracesmith/import/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;
using proto::Field;

constexpr int kDeepestTrack = 64;
constexpr int64_t kMicrosecondNs = 1000;
constexpr std::string_view kOverlapping = " (overlapping)";  // as the exporter names them

/// Annotations that a column may hold; the names are the exporter's, and Kineto's.
constexpr std::array<std::string_view, 17> kWanted = {
    "correlation_id", "correlation", "device",  "stream",  "context",       "bytes",
    "result",         "subject",     "program", "options", "log_bytes",     "asynchronous",
    "unfinished",     "stray_end",   "Device",  "Stream",  "Correlation ID"};

std::string_view wanted(std::string_view name) {
  const auto it = std::find(kWanted.begin(), kWanted.end(), name);
  return it != kWanted.end() ? *it : std::string_view{};
}

/// Categories that the exporter gives host calls.
std::optional<CallKind> exportedCall(std::string_view category) {
  constexpr std::array<std::string_view, 8> kNames = {"api",  "launch", "copy",  "fill",
                                                      "sync", "memory", "build", "setup"};
  const auto it = std::find(kNames.begin(), kNames.end(), category);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<CallKind>(it - kNames.begin());
}

std::optional<BuildKind> exportedBuild(std::string_view name) {
  if (name == "build program") return BuildKind::kBuild;
  if (name == "compile program") return BuildKind::kCompile;
  if (name == "link program") return BuildKind::kLink;
  return std::nullopt;
}

std::optional<SyncKind> exportedWait(std::string_view name) {
  for (int k = 0; k <= static_cast<int>(SyncKind::kFlush); ++k) {
    if (name == toString(static_cast<SyncKind>(k))) return static_cast<SyncKind>(k);
  }
  return std::nullopt;
}

}  // namespace

// --- Tracks ------------------------------------------------------------------------------------

void PerfettoSlices::describe() {
  for (const auto& [pid, known] : survey_.processes) {
    builder_.rows.process.push({.id = builder_.process(pid),
                                .pid = static_cast<uint32_t>(pid),
                                .parent_pid = static_cast<uint32_t>(known.second),
                                .command_line = builder_.text(known.first),
                                .seen_by = builder_.text("import")});
  }
  for (const auto& [key, name] : survey_.threads) {
    builder_.nameThread(key.first, key.second, name);
  }
  for (const uint64_t uuid : survey_.track_order) {
    const PerfettoTrack& t = survey_.tracks.at(uuid);
    if (t.process && t.pid != 0) {
      builder_.rows.process.push(
          {.id = builder_.process(t.pid),
           .pid = static_cast<uint32_t>(t.pid),
           .command_line = builder_.text(t.command_line.empty() ? t.process_name : t.command_line),
           .executable = builder_.text(t.process_name),
           .seen_by = builder_.text("import")});
    }
    if (t.thread) {
      builder_.nameThread(t.pid, t.tid, t.thread_name.empty() ? t.name : t.thread_name);
    }
  }
}

/// A track that is no thread takes the part of one.
ThreadId PerfettoSlices::namedTrack(int64_t pid, std::string_view name) {
  const auto [it, fresh] = named_tracks_.try_emplace({pid, std::string(name)});
  if (fresh) {
    it->second = builder_.thread(pid, -static_cast<int64_t>(named_tracks_.size()));
    builder_.rows.thread.push({.id = it->second,
                               .process_id = builder_.process(pid),
                               .tid = 0,
                               .name = builder_.text(name)});
  }
  return it->second;
}

PerfettoSlices::Place PerfettoSlices::place(uint64_t track) {
  const auto it = places_.find(track);
  if (it != places_.end()) return it->second;
  const Place found = placeOf(track);
  places_.emplace(track, found);
  return found;
}

PerfettoSlices::Place PerfettoSlices::placeOf(uint64_t track) {
  const auto itself = survey_.tracks.find(track);
  if (itself == survey_.tracks.end()) {
    ++unknown_tracks_;
    return {0, builder_.process(0), namedTrack(0, fmt::format("track {}", track))};
  }
  const PerfettoTrack* t = &itself->second;
  const std::string& own_name = t->name;
  for (int depth = 0; depth < kDeepestTrack && !t->thread && !t->process; ++depth) {
    const auto parent = survey_.tracks.find(t->parent);
    if (t->parent == 0 || parent == survey_.tracks.end()) break;
    t = &parent->second;
  }
  if (!t->thread && !t->process) {
    return {0, builder_.process(0), namedTrack(0, own_name.empty() ? "track" : own_name)};
  }
  Place found = {t->pid, builder_.process(t->pid), ThreadId::kNone};
  if (t == &itself->second) {
    if (t->thread) found.thread = builder_.thread(t->pid, t->tid);
  } else if (t->thread &&
             (own_name.empty() || (survey_.ours && own_name.ends_with(kOverlapping)))) {
    found.thread = builder_.thread(t->pid, t->tid);
  } else if (!(survey_.ours && own_name == "Calls of unknown threads")) {
    std::string_view name = own_name;
    if (survey_.ours && name.ends_with(kOverlapping)) name.remove_suffix(kOverlapping.size());
    found.thread = namedTrack(t->pid, name.empty() ? "track" : name);
  }
  return found;
}

uint64_t PerfettoSlices::correlationOf(uint64_t event_id) const {
  const auto it = survey_.submissions.find(event_id);
  return it != survey_.submissions.end() ? it->second.first : event_id;
}

ThreadId PerfettoSlices::submitterOf(uint64_t event_id) {
  const auto it = survey_.submissions.find(event_id);
  return it != survey_.submissions.end() ? place(it->second.track).thread : ThreadId::kNone;
}

CallPathId PerfettoSlices::callPathOf(uint64_t event_id) const {
  const auto it = path_of_work_.find(event_id);
  return it != path_of_work_.end() ? it->second : CallPathId::kNone;
}

// --- One event ---------------------------------------------------------------------------------

void PerfettoSlices::annotation(const PerfettoSequence& sequence, std::string_view bytes,
                                Event& event) {
  const PerfettoValue value = readAnnotation(sequence, bytes, builder_);
  const std::string_view name = value.name;
  const std::string_view column = wanted(name);
  switch (value.type) {
    case PerfettoValue::kInteger:
      event.kept.integer(name, value.integer);
      if (!column.empty()) event.numbers[column] = value.integer;
      break;
    case PerfettoValue::kText: {
      const StringId text = builder_.text(value.text);
      event.kept.text(name, text);
      if (!column.empty()) event.words[column] = text;
      break;
    }
    case PerfettoValue::kJson:
      event.kept.json(name, builder_.json(value.text));
      break;
  }
}

/// What Chrome's events were before there was an own form for them.
void PerfettoSlices::legacy(const PerfettoSequence& sequence, std::string_view bytes,
                            Event& event) {
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pn::event::legacy::kNameIid:
        if (event.name == StringId::kNone) {
          const auto it = sequence.event_names.find(f.value);
          if (it != sequence.event_names.end()) event.name = it->second;
        }
        break;
      case pn::event::legacy::kPhase:
        if (event.type != 0) break;
        event.type = f.value == 'B' || f.value == 'X'   ? pn::event::kBegin
                     : f.value == 'E'                   ? pn::event::kEnd
                     : f.value == 'i' || f.value == 'I' ? pn::event::kInstant
                                                        : 0;
        if (f.value == 'X') event.duration_ns = std::max<int64_t>(event.duration_ns, 0);
        break;
      case pn::event::legacy::kDuration:
        if (__builtin_mul_overflow(static_cast<int64_t>(f.value), kMicrosecondNs,
                                   &event.duration_ns)) {
          event.duration_ns = INT64_MAX;
        }
        event.duration_ns = spans_.lasting(event.duration_ns);
        if (event.duration_ns == 0 && f.value != 0) {
          event.kept.integer("legacy_event.duration_us", static_cast<int64_t>(f.value));
        }
        break;
      default:
        keepUnknownField(f, "legacy_event.", builder_, event.kept);
    }
  });
}

bool PerfettoSlices::event(PerfettoSequence& sequence, uint64_t sequence_id, int64_t time_ns,
                           std::string_view bytes) {
  Event e;
  e.track = sequence.track;
  std::string categories;
  std::optional<double> value;
  std::vector<uint64_t> extra_tracks, extra_double_tracks;
  std::vector<int64_t> extra_values;
  std::vector<double> extra_doubles;
  std::string_view legacy_event;
  std::optional<Field> call_stack;
  std::vector<uint64_t> submitted;
  const auto category = [&](std::string_view one) {
    if (!categories.empty()) categories += ',';
    categories += one;
  };
  // The annotations first, as an object of their own.
  e.kept.column("ts", SourceGap::kTimeNanos);
  e.kept.column("name", SourceGap::kName);
  e.kept.open("args");
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::event::kAnnotations) annotation(sequence, f.bytes, e);
  });
  e.kept.close();
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pn::event::kAnnotations:
      case pn::event::kTimeDelta:
      case pn::event::kAbsoluteTime:
        break;
      case pn::event::kType:
        e.type = f.value;
        break;
      case pn::event::kTrackUuid:
        e.track = f.value;
        break;
      case pn::event::kCategoryIids:
        for (const uint64_t iid : packedVarints(f.wire_type, f.value, f.bytes)) {
          const auto it = sequence.categories.find(iid);
          if (it != sequence.categories.end()) category(builder_.rows.text(it->second));
        }
        break;
      case pn::event::kCategories:
        category(f.bytes);
        break;
      case pn::event::kNameIid: {
        const auto it = sequence.event_names.find(f.value);
        if (it != sequence.event_names.end()) e.name = it->second;
        break;
      }
      case pn::event::kName:
        e.name = builder_.text(f.bytes);
        break;
      case pn::event::kCounterValue:
        value = static_cast<double>(static_cast<int64_t>(f.value));
        break;
      case pn::event::kDoubleValue:
        value = std::bit_cast<double>(f.value);
        break;
      case pn::event::kExtraTracks:
        for (uint64_t v : packedVarints(f.wire_type, f.value, f.bytes)) extra_tracks.push_back(v);
        break;
      case pn::event::kExtraDoubleTracks:
        for (uint64_t v : packedVarints(f.wire_type, f.value, f.bytes)) {
          extra_double_tracks.push_back(v);
        }
        break;
      case pn::event::kExtraValues:
        for (uint64_t v : packedVarints(f.wire_type, f.value, f.bytes)) {
          extra_values.push_back(static_cast<int64_t>(v));
        }
        break;
      case pn::event::kExtraDoubleValues:
        for (const uint64_t v : fixedValues(f)) extra_doubles.push_back(std::bit_cast<double>(v));
        break;
      case pn::event::kFlowIds:
      case pn::event::kFlowIdsOld:
        for (const uint64_t id : flowIds(f)) e.flows.push_back(id);
        break;
      case pn::event::kEndingFlowIds:
      case pn::event::kEndingFlowIdsOld:
        for (const uint64_t id : flowIds(f)) e.ending_flows.push_back(id);
        break;
      case pn::event::kGpuCorrelation:
        proto::forEachField(f.bytes, [&](const Field& g) {
          if (g.number == pn::event::gpu_correlation::kSubmitted) {
            if (!e.submits) e.correlation = correlationOf(g.value);
            e.submits = true;
            submitted.push_back(g.value);
          }
          if (g.number == pn::event::gpu_correlation::kWaitedFor) e.waited_for.push_back(g.value);
        });
        break;
      case pn::event::kCallstack:
      case pn::event::kCallstackIid:
        call_stack = f;
        break;
      case pn::event::kLegacy:
        legacy_event = f.bytes;
        break;
      default:
        keepUnknownField(f, "", builder_, e.kept);
    }
  });
  if (!legacy_event.empty()) legacy(sequence, legacy_event, e);
  if (call_stack) {
    // A row has that of its begin; another one is kept beside it.
    if (e.type != pn::event::kEnd) e.call_path = stacks_.of(sequence, *call_stack);
    if (e.call_path == CallPathId::kNone) keepUnknownField(*call_stack, "", builder_, e.kept);
    for (const uint64_t id : submitted) path_of_work_.emplace(id, e.call_path);
  }
  for (const char* key : {"correlation_id", "correlation", "Correlation ID"}) {
    const auto it = e.numbers.find(key);
    if (it != e.numbers.end()) e.correlation = static_cast<uint64_t>(it->second);
  }
  if (!categories.empty()) {
    e.category = builder_.text(categories);
    e.kept.text("cat", e.category);
  }
  if (e.track == 0) {
    const auto it = survey_.thread_of_sequence.find(sequence_id);
    e.track = ~sequence_id;
    if (places_.count(e.track) == 0) {
      if (it != survey_.thread_of_sequence.end()) {
        const auto [pid, tid] = it->second;
        places_[e.track] = {pid, builder_.process(pid), builder_.thread(pid, tid)};
      } else {
        places_[e.track] = {0, builder_.process(0),
                            namedTrack(0, fmt::format("sequence {}", sequence_id))};
      }
    }
  }

  // Counters of the event beside its own.
  const auto& tracks = extra_tracks.empty() ? sequence.extra_tracks : extra_tracks;
  for (size_t i = 0; i < std::min(tracks.size(), extra_values.size()); ++i) {
    counter(tracks[i], time_ns, static_cast<double>(extra_values[i]), sequence);
  }
  const auto& doubles =
      extra_double_tracks.empty() ? sequence.extra_double_tracks : extra_double_tracks;
  for (size_t i = 0; i < std::min(doubles.size(), extra_doubles.size()); ++i) {
    counter(doubles[i], time_ns, extra_doubles[i], sequence);
  }
  if (e.type == pn::event::kCounter) {
    if (!value) return false;
    counter(e.track, time_ns, *value, sequence);
    return true;
  }
  if (e.type < pn::event::kBegin || e.type > pn::event::kInstant) return false;
  if (survey_.shared_tracks.count(e.track) > 0) {
    late_.push_back({time_ns, std::move(e)});
  } else {
    apply(time_ns, std::move(e));
  }
  return true;
}

void PerfettoSlices::counter(uint64_t track, int64_t time_ns, double value,
                             PerfettoSequence& sequence) {
  const auto known = survey_.tracks.find(track);
  const PerfettoTrack* t = known != survey_.tracks.end() ? &known->second : nullptr;
  if (t != nullptr) value *= t->multiplier;
  if (t != nullptr && t->incremental) value = sequence.sums[track] += value;
  const auto [it, fresh] = counters_.try_emplace(track);
  if (fresh) {
    CounterTrackRow row;
    std::string name = t != nullptr ? t->name : fmt::format("counter {}", track);
    row.unit = t != nullptr ? builder_.text(t->unit) : StringId::kNone;
    for (int depth = 0; t != nullptr && depth < kDeepestTrack; ++depth) {
      if (t->pid != 0 && (t->process || t->thread)) {
        row.process_id = builder_.process(t->pid);
        break;
      }
      const auto parent = survey_.tracks.find(t->parent);
      t = t->parent != 0 && parent != survey_.tracks.end() ? &parent->second : nullptr;
    }
    if (survey_.ours) {  // "GPU 0: temperature"
      const size_t colon = name.find(": ");
      const size_t space = name.find(' ');
      int ordinal = -1;
      if (colon != std::string::npos && space < colon) {
        const char* const end = name.data() + colon;
        const auto read = std::from_chars(name.data() + space + 1, end, ordinal);
        if (read.ec == std::errc() && read.ptr == end && ordinal >= 0) {
          row.device_id = builder_.device(ordinal);
          name.erase(0, colon + 2);
        }
      }
    }
    row.name = builder_.text(name);
    it->second = builder_.counterTrack(row);
  }
  builder_.rows.counter.push({.time_ns = time_ns, .track_id = it->second, .value = value});
  builder_.added();
}

// --- Slices ------------------------------------------------------------------------------------

void PerfettoSlices::apply(int64_t time_ns, Event&& event) {
  const Place at = place(event.track);
  arrows(at, time_ns, event);
  std::vector<Open>& open = open_[event.track];
  switch (event.type) {
    case pn::event::kBegin:
      if (event.duration_ns >= 0)
        return slice(at, time_ns, event.duration_ns, RangeKind::kRange, event);
      open.push_back({time_ns, std::move(event)});
      return;
    case pn::event::kEnd:
      if (open.empty()) return slice(at, time_ns, 0, RangeKind::kEnd, event);
      {
        Open begun = std::move(open.back());
        open.pop_back();
        begun.event.kept.append("end", event.kept);
        slice(at, begun.start_ns, spans_.between(begun.start_ns, time_ns), RangeKind::kRange,
              begun.event);
      }
      return;
    default:
      return slice(at, time_ns, 0, RangeKind::kInstant, event);
  }
}

void PerfettoSlices::arrows(const Place& place, int64_t time_ns, const Event& event) {
  const auto arrow = [&](uint64_t id, FlowEnd end) {
    builder_.rows.flow_event.push({.time_ns = time_ns,
                                   .end = end,
                                   .flow_id = id,
                                   .name = event.name,
                                   .category = event.category,
                                   .process_id = place.process,
                                   .thread_id = place.thread});
    builder_.added();
  };
  for (const uint64_t id : event.flows) {
    arrow(id, flows_seen_.insert(id).second ? FlowEnd::kBegin : FlowEnd::kStep);
  }
  for (const uint64_t id : event.ending_flows) {
    arrow(id, FlowEnd::kEnd);
    flows_seen_.erase(id);
  }
}

void PerfettoSlices::slice(const Place& at, int64_t start_ns, int64_t duration_ns, RangeKind kind,
                           Event& e) {
  const auto number = [&](std::string_view key) {
    const auto it = e.numbers.find(key);
    return it != e.numbers.end() ? it->second : 0;
  };
  const auto word = [&](std::string_view key) {
    const auto it = e.words.find(key);
    return it != e.words.end() ? it->second : StringId::kNone;
  };
  if (kind == RangeKind::kRange) e.kept.column("dur", SourceGap::kDurationNanos);
  if (!e.waited_for.empty()) {
    std::string ids = "[";
    for (const uint64_t id : e.waited_for) ids += (ids.size() > 1 ? "," : "") + std::to_string(id);
    e.kept.json("waited_for", builder_.json(ids + "]"));
  }
  Trace& rows = builder_.rows;
  const std::string_view category = rows.text(e.category);
  const std::string_view name = rows.text(e.name);
  const auto done = [&](TableId table) {
    kept_.keep(table, e.kept);
    builder_.added();
  };
  // What the device did, where the source has it as slices.
  const auto deviceWork = [&](auto row) {
    int64_t stream = number("stream");
    if (e.numbers.count("stream") == 0) stream = number("Stream");
    const int64_t device = e.numbers.count("device") > 0 ? number("device") : number("Device");
    row.start_ns = start_ns;
    row.duration_ns = duration_ns;
    row.name = e.name;
    row.process_id = at.process;
    row.stream_id = builder_.stream(at.pid, device, number("context"), stream);
    row.correlation_id = e.correlation;
    row.call_path_id = e.call_path;
    return row;
  };
  const auto bytes = [&] { return static_cast<uint64_t>(std::max<int64_t>(number("bytes"), 0)); };
  std::optional<CallKind> call;
  if (kind == RangeKind::kRange) {
    if (survey_.ours) {
      call = exportedCall(category);
      const auto build = exportedBuild(name);
      if (call == CallKind::kBuild && build && word("program") != StringId::kNone) {
        const std::string program(rows.text(word("program")));
        rows.program_build.push({.start_ns = start_ns,
                                 .duration_ns = duration_ns,
                                 .kind = *build,
                                 .process_id = at.process,
                                 .thread_id = at.thread,
                                 .program = std::strtoull(program.c_str(), nullptr, 16),
                                 .result = number("result"),
                                 .log_bytes = static_cast<uint64_t>(number("log_bytes")),
                                 .options = word("options"),
                                 .flags = number("asynchronous") != 0 ? 1u : 0u});
        return done(TableId::kProgramBuild);
      }
      const auto wait = exportedWait(name);
      if (call == CallKind::kSync && wait) {
        rows.sync.push({.start_ns = start_ns,
                        .duration_ns = duration_ns,
                        .kind = *wait,
                        .process_id = at.process,
                        .thread_id = at.thread,
                        .correlation_id = e.correlation,
                        .flags = op_flags::kHostSide,
                        .call_path_id = e.call_path});
        return done(TableId::kSync);
      }
    } else {
      switch (kindOf(category)) {
        case ChromeKind::kKernel:
          rows.kernel.push(deviceWork(KernelRow{}));
          return done(TableId::kKernel);
        case ChromeKind::kCopy: {
          CopyRow copy = deviceWork(CopyRow{});
          copy.kind = copyKindOf(name);
          copy.bytes = bytes();
          rows.copy.push(copy);
          return done(TableId::kCopy);
        }
        case ChromeKind::kFill: {
          FillRow fill = deviceWork(FillRow{});
          fill.bytes = bytes();
          rows.fill.push(fill);
          return done(TableId::kFill);
        }
        case ChromeKind::kSync: {
          SyncRow sync = deviceWork(SyncRow{});
          sync.kind = syncKindOf(name);
          rows.sync.push(sync);
          return done(TableId::kSync);
        }
        case ChromeKind::kHostCall:
          call = callKindOf(name);
          break;
        case ChromeKind::kDeviceRange:
        case ChromeKind::kHostRange:
          if (e.submits) call = callKindOf(name);
          break;
      }
    }
  }
  if (call) {
    rows.host_call.push({.start_ns = start_ns,
                         .duration_ns = duration_ns,
                         .name = e.name,
                         .process_id = at.process,
                         .thread_id = at.thread,
                         .correlation_id = e.correlation,
                         .result = number("result"),
                         .kind = *call,
                         .call_path_id = e.call_path,
                         .subject = word("subject")});
    return done(TableId::kHostCall);
  }
  if (survey_.ours && number("unfinished") != 0) kind = RangeKind::kBegin;
  if (survey_.ours && number("stray_end") != 0) kind = RangeKind::kEnd;
  if (kind == RangeKind::kBegin) duration_ns = 0;
  rows.range.push({.start_ns = start_ns,
                   .duration_ns = duration_ns,
                   .kind = kind,
                   .name = e.name,
                   .category = survey_.ours && category == "range" ? StringId::kNone : e.category,
                   .process_id = at.process,
                   .thread_id = at.thread,
                   .correlation_id = e.correlation,
                   .call_path_id = e.call_path});
  done(TableId::kRange);
}

void PerfettoSlices::finish() {
  std::stable_sort(late_.begin(), late_.end(),
                   [](const Late& a, const Late& b) { return a.time_ns < b.time_ns; });
  for (Late& late : late_) apply(late.time_ns, std::move(late.event));
  for (auto& [track, open] : open_) {
    for (Open& begun : open) slice(place(track), begun.start_ns, 0, RangeKind::kBegin, begun.event);
  }
}

}  // namespace tracesmith::import
