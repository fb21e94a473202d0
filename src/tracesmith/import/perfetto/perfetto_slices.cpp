// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

namespace pn = perfetto_numbers;

constexpr uint64_t kThreadTime = 1, kThreadInstructions = 2;  // counter types
constexpr std::string_view kThreadTimeName = "thread_time";
constexpr std::string_view kInstructionsName = "thread_instruction_count";

std::string nameOfCounter(const PerfettoTrack& track) {
  if (!track.name.empty()) return track.name;
  if (track.counter_type == kThreadTime) return std::string(kThreadTimeName);
  if (track.counter_type == kThreadInstructions) return std::string(kInstructionsName);
  return {};
}
/// A trace's counters belong to a process, so the name includes the thread.
std::string nameInThread(std::string_view name, int64_t tid) {
  return fmt::format("{}, thread {}", name, tid);
}
std::string_view unitOfCounter(const PerfettoTrack& track) {
  return track.counter_type == kThreadTime           ? "ns"
         : track.counter_type == kThreadInstructions ? "count"
                                                     : std::string_view(track.unit);
}

/// The call kind for a category that TraceSmith's exporter gives host calls.
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

uint64_t annotatedBytes(const PerfettoEvent& event) {
  return static_cast<uint64_t>(std::max<int64_t>(event.number("bytes"), 0));
}

std::optional<SyncKind> exportedWait(std::string_view name) {
  for (int k = 0; k <= static_cast<int>(SyncKind::kFlush); ++k) {
    if (name == toString(static_cast<SyncKind>(k))) return static_cast<SyncKind>(k);
  }
  return std::nullopt;
}

}  // namespace

uint64_t PerfettoSlices::correlationOf(uint64_t event_id) const {
  const auto it = first_pass_.submissions.find(event_id);
  return it != first_pass_.submissions.end() ? it->second.first : event_id;
}

ThreadId PerfettoSlices::submitterOf(uint64_t event_id) {
  const auto it = first_pass_.submissions.find(event_id);
  return it != first_pass_.submissions.end() ? tracks_.ofTrack(it->second.track).place.thread
                                             : ThreadId::kNone;
}

CallPathId PerfettoSlices::callPathOf(uint64_t event_id) const {
  const auto it = path_of_work_.find(event_id);
  return it != path_of_work_.end() ? it->second : CallPathId::kNone;
}

// --- One event ---------------------------------------------------------------------------------

const PerfettoTracks::Track& PerfettoSlices::trackOf(const PerfettoSequence& sequence,
                                                     uint64_t sequence_id, const PerfettoRead& r) {
  if (r.track != 0) return tracks_.ofTrack(r.track);
  const auto thread = threadOfEvent(sequence.thread, !r.has_track || r.type == 0, r.pid, r.tid);
  return thread ? tracks_.ofThread(thread->first, thread->second) : tracks_.ofSequence(sequence_id);
}

/// nullopt: the event has no time, or an impossible one.
std::optional<int64_t> PerfettoSlices::timeOf(uint64_t sequence_id, std::optional<int64_t> time_ns,
                                              const PerfettoRead& r) {
  if (!r.has_own_time) return time_ns;
  if (!r.time_ns || *r.time_ns < 0) return std::nullopt;
  const auto converted =
      clocks_.toTrace(sequence_id, pn::clock::kMonotonic, static_cast<uint64_t>(*r.time_ns));
  if (!converted) ++unrelated_times_;
  const int64_t found_ns = converted.value_or(*r.time_ns);
  return spans_.isTime(found_ns) ? std::optional(found_ns) : std::nullopt;
}

/// Handles "thread_name" and "process_name", as in Chrome's JSON.
bool PerfettoSlices::takeMetadata(const PerfettoSequence& sequence, const PerfettoRead& r) {
  const std::string_view what = builder_.rows.text(r.event.name);
  const StringId said = r.first_text;
  const auto thread = threadOfEvent(sequence.thread, true, r.pid, r.tid);
  if (said == StringId::kNone || !thread) return false;
  const std::string name(builder_.rows.text(said));
  if (what == "process_name") {
    builder_.nameProcess(thread->first, name);
  } else if (what == "thread_name" && thread->second >= 0) {
    builder_.nameThread(thread->first, thread->second, name);
  } else {
    return false;
  }
  return true;
}

PerfettoOutcome PerfettoSlices::event(PerfettoSequence& sequence, uint64_t sequence_id,
                                      std::optional<int64_t> packet_ns, std::string_view bytes) {
  PerfettoRead r = readTrackEvent(sequence, bytes, builder_, spans_);
  PerfettoEvent& e = r.event;
  const std::optional<int64_t> time_ns = timeOf(sequence_id, packet_ns, r);
  if (e.action == PerfettoAction::kMetadata && takeMetadata(sequence, r)) {
    return PerfettoOutcome::kDescription;
  }
  if (!time_ns) return PerfettoOutcome::kUnusable;
  resolveLinks(sequence, r);
  if (e.action == PerfettoAction::kCounter) {
    writeAttachedCounters(sequence, *time_ns, r);
    // They are the thread's, and the event is on the counter's track.
    values_without_track_ += (r.thread_time_ns ? 1u : 0u) + (r.instructions ? 1u : 0u);
    if (!r.value || r.track == 0) return PerfettoOutcome::kUnusable;
    writeCounter(r.track, *time_ns, *r.value, sequence);
    return PerfettoOutcome::kRow;
  }
  const PerfettoTracks::Track* track = &trackOf(sequence, sequence_id, r);
  writeThreadCounters(*time_ns, r, track->place);
  writeAttachedCounters(sequence, *time_ns, r);
  if (r.async) {
    if (r.async_id.kind == PerfettoAsyncId::kNone) {
      e.action = PerfettoAction::kNone;  // its slice cannot be identified
    } else {
      track = &tracks_.ofAsync(r.async_id, track->place, e.name);
    }
  }
  switch (e.action) {
    case PerfettoAction::kFlow:
      if (r.async_id.kind != PerfettoAsyncId::kUnscoped) break;
      writeArrow(track->place, *time_ns, r.async_id.number,
                 r.phase == 's'   ? FlowEnd::kBegin
                 : r.phase == 'f' ? FlowEnd::kEnd
                                  : FlowEnd::kStep,
                 e.name, e.category);
      return PerfettoOutcome::kRow;
    case PerfettoAction::kNone:
    case PerfettoAction::kMetadata:
      break;
    default: {
      PerfettoTracks::Track at = *track;
      // Instants of process or global scope are not on a thread.
      if (r.phase == 'i' || r.phase == 'I') {
        const bool of_thread = r.instant_scope != pn::event::legacy::kGlobalScope &&
                               r.instant_scope != pn::event::legacy::kProcessScope;
        if (!of_thread) at.place.thread = ThreadId::kNone;
      }
      if (at.unordered) {
        late_.push_back({*time_ns, at.key, at.place, std::move(e)});
      } else {
        apply(*time_ns, at.key, at.place, std::move(e));
      }
      return PerfettoOutcome::kRow;
    }
  }
  e.kept.integer("timestamp", *time_ns);
  e.kept.text("event_name", e.name);
  kept_.keep(SourceRows::kNone, e.kept);
  builder_.added();
  return PerfettoOutcome::kKept;
}

/// Reads the event's links to device work, and its call stack.
void PerfettoSlices::resolveLinks(PerfettoSequence& sequence, PerfettoRead& r) {
  PerfettoEvent& e = r.event;
  if (!r.submitted.empty()) {
    e.submits = true;
    e.correlation = correlationOf(r.submitted.front());
  }
  for (const std::string_view key : {"correlation_id", "correlation", "Correlation ID"}) {
    if (e.numbers.empty()) break;
    const int64_t* const said = e.findNumber(key);
    if (said != nullptr) e.correlation = static_cast<uint64_t>(*said);
  }
  if (r.bind_id) {
    namespace pl = pn::event::legacy;
    if (r.flow_direction == pl::kFlowOut) e.bound.emplace_back(*r.bind_id, FlowEnd::kBegin);
    if (r.flow_direction == pl::kFlowInOut) e.bound.emplace_back(*r.bind_id, FlowEnd::kStep);
    if (r.flow_direction == pl::kFlowIn) e.bound.emplace_back(*r.bind_id, FlowEnd::kEnd);
  }
  if (!r.call_stack) return;
  // A row has the call stack of its start; a different one at the end is kept beside it.
  if (e.action != PerfettoAction::kEnd) e.call_path = stacks_.of(sequence, *r.call_stack);
  if (e.call_path == CallPathId::kNone) keepUnknownField(*r.call_stack, "", builder_, e.kept);
  for (const uint64_t id : r.submitted) path_of_work_.emplace(id, e.call_path);
}

/// Adds thread time and instruction counts in the old form, before counters had tracks.
void PerfettoSlices::writeThreadCounters(int64_t time_ns, const PerfettoRead& r,
                                         const Place& place) {
  if (place.tid == PerfettoTracks::kNoThread) return;
  const auto push = [&](std::string_view name, std::string_view unit, int64_t value) {
    const auto [it, fresh] = thread_counters_.try_emplace({place.pid, place.tid, name});
    if (fresh) {
      it->second = builder_.counterTrack({.name = builder_.text(nameInThread(name, place.tid)),
                                          .unit = builder_.text(unit),
                                          .process_id = place.process});
    }
    builder_.rows.counter.push(
        {.time_ns = time_ns, .track_id = it->second, .value = static_cast<double>(value)});
    builder_.added();
  };
  if (r.thread_time_ns) push(kThreadTimeName, "ns", *r.thread_time_ns);
  if (r.instructions) push(kInstructionsName, "count", *r.instructions);
}

/// Adds values of counter tracks that an event of another kind carries.
void PerfettoSlices::writeAttachedCounters(PerfettoSequence& sequence, int64_t time_ns,
                                           const PerfettoRead& r) {
  const auto& tracks = r.extra_tracks.empty() ? sequence.extra_tracks : r.extra_tracks;
  for (size_t i = 0; i < std::min(tracks.size(), r.extra_values.size()); ++i) {
    writeCounter(tracks[i], time_ns, static_cast<double>(r.extra_values[i]), sequence);
  }
  const auto& doubles =
      r.extra_double_tracks.empty() ? sequence.extra_double_tracks : r.extra_double_tracks;
  for (size_t i = 0; i < std::min(doubles.size(), r.extra_doubles.size()); ++i) {
    writeCounter(doubles[i], time_ns, r.extra_doubles[i], sequence);
  }
  const auto left = [](size_t values, size_t places) {
    return values > places ? values - places : 0;
  };
  values_without_track_ +=
      left(r.extra_values.size(), tracks.size()) + left(r.extra_doubles.size(), doubles.size());
}

void PerfettoSlices::writeCounter(uint64_t track, int64_t time_ns, double value,
                                  PerfettoSequence& sequence) {
  const auto known = first_pass_.tracks.find(track);
  const PerfettoTrack* t = known != first_pass_.tracks.end() ? &known->second : nullptr;
  if (t != nullptr) value *= t->multiplier;
  if (t != nullptr && t->incremental) value = sequence.sums[track] += value;
  const auto [it, fresh] = counters_.try_emplace(track);
  if (fresh) {
    CounterTrackRow row;
    std::string name = t != nullptr ? nameOfCounter(*t) : fmt::format("counter {}", track);
    row.unit = t != nullptr ? builder_.text(unitOfCounter(*t)) : StringId::kNone;
    for (int depth = 0; t != nullptr && depth < kDeepestTrack; ++depth) {
      if (t->pid != 0 && (t->process || t->thread)) {
        row.process_id = builder_.process(t->pid);
        if (t->thread) name = nameInThread(name, t->tid);
        break;
      }
      const auto parent = first_pass_.tracks.find(t->parent);
      t = t->parent != 0 && parent != first_pass_.tracks.end() ? &parent->second : nullptr;
    }
    if (first_pass_.ours) {  // "GPU 0: temperature"
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

void PerfettoSlices::apply(int64_t time_ns, uint64_t key, const Place& at, PerfettoEvent&& event) {
  writeArrows(at, time_ns, event);
  auto known = open_.find(key);
  if (known == open_.end()) known = open_.emplace(key, OpenSlices{at, {}}).first;
  OpenSlices& open = known->second;
  const auto ended = [&](Stack::StartedSlice&& started, int64_t end_ns) {
    writeSlice({open.place, started.start_ns, spans_.between(started.start_ns, end_ns),
                RangeKind::kRange, started.event});
  };
  open.stack.advance(time_ns, event.action == PerfettoAction::kInstant, ended);
  switch (event.action) {
    case PerfettoAction::kBegin:
      open.place = at;  // an instant of process scope, which is on no thread, may have come first
      return open.stack.begin(time_ns, event.name, event.category, std::move(event));
    case PerfettoAction::kComplete: {
      int64_t end_ns = 0;
      if (!__builtin_add_overflow(time_ns, event.duration_ns, &end_ns)) {
        open.stack.add(time_ns, end_ns);
      }
      return writeSlice({at, time_ns, event.duration_ns, RangeKind::kRange, event});
    }
    case PerfettoAction::kEnd: {
      std::optional<Stack::StartedSlice> started =
          open.stack.end(time_ns, event.name, event.category);
      if (!started) return writeSlice({at, time_ns, 0, RangeKind::kEnd, event});
      started->event.kept.append("end", event.kept);
      return ended(std::move(*started), time_ns);
    }
    default:
      return writeSlice({at, time_ns, 0, RangeKind::kInstant, event});
  }
}

void PerfettoSlices::writeArrow(const Place& place, int64_t time_ns, uint64_t id, FlowEnd end,
                                StringId name, StringId category) {
  builder_.rows.flow_event.push({.time_ns = time_ns,
                                 .end = end,
                                 .flow_id = id,
                                 .name = name,
                                 .category = category,
                                 .process_id = place.process,
                                 .thread_id = place.thread});
  builder_.added();
}

/// The ends of these flows share an id; slice names do not matter. Which end starts a flow is known
/// when all are in time order, so finish() writes those.
void PerfettoSlices::writeArrows(const Place& place, int64_t time_ns, const PerfettoEvent& event) {
  for (const auto& [id, end] : event.bound) {
    writeArrow(place, time_ns, id, end, StringId::kNone, StringId::kNone);
  }
  for (const uint64_t id : event.flows) flow_ends_.push_back({time_ns, id, false, place});
  for (const uint64_t id : event.ending_flows) flow_ends_.push_back({time_ns, id, true, place});
}

void PerfettoSlices::writeFlowEnds() {
  std::stable_sort(flow_ends_.begin(), flow_ends_.end(),
                   [](const FlowIdAt& a, const FlowIdAt& b) { return a.time_ns < b.time_ns; });
  std::unordered_set<uint64_t> started;
  for (const FlowIdAt& f : flow_ends_) {
    FlowEnd end = FlowEnd::kEnd;
    if (f.ends) {
      started.erase(f.id);
    } else {
      end = started.insert(f.id).second ? FlowEnd::kBegin : FlowEnd::kStep;
    }
    writeArrow(f.place, f.time_ns, f.id, end, StringId::kNone, StringId::kNone);
  }
}

void PerfettoSlices::writeSlice(const Slice& s) {
  PerfettoEvent& e = s.event;
  if (s.kind == RangeKind::kRange) e.kept.column("dur", SourceGap::kDurationNanos);
  if (!e.waited_for.empty()) {
    std::string ids = "[";
    for (const uint64_t id : e.waited_for) ids += (ids.size() > 1 ? "," : "") + std::to_string(id);
    e.kept.json("waited_for", builder_.json(ids + "]"));
  }
  kept_.keep(pushRow(s), e.kept);
  builder_.added();
}

TableId PerfettoSlices::pushRow(const Slice& s) {
  if (s.kind != RangeKind::kRange) return pushRange(s);
  if (first_pass_.ours) return pushExported(s);
  Trace& rows = builder_.rows;
  const std::string_view name = rows.text(s.event.name);
  switch (kindOf(rows.text(s.event.category))) {
    case ChromeKind::kKernel:
      rows.kernel.push(makeDeviceRow<KernelRow>(s));
      return TableId::kKernel;
    case ChromeKind::kCopy: {
      auto copy = makeDeviceRow<CopyRow>(s);
      copy.kind = copyKindOf(name);
      copy.bytes = annotatedBytes(s.event);
      rows.copy.push(copy);
      return TableId::kCopy;
    }
    case ChromeKind::kFill: {
      auto fill = makeDeviceRow<FillRow>(s);
      fill.bytes = annotatedBytes(s.event);
      rows.fill.push(fill);
      return TableId::kFill;
    }
    case ChromeKind::kSync: {
      auto sync = makeDeviceRow<SyncRow>(s);
      sync.kind = syncKindOf(name);
      rows.sync.push(sync);
      return TableId::kSync;
    }
    case ChromeKind::kHostCall:
      return pushCall(s, callKindOf(name));
    case ChromeKind::kDeviceRange:
    case ChromeKind::kHostRange:
      break;
  }
  return s.event.submits ? pushCall(s, callKindOf(name)) : pushRange(s);
}

/// Creates a row of device work from a slice.
template <class Row>
Row PerfettoSlices::makeDeviceRow(const Slice& s) {
  const PerfettoEvent& e = s.event;
  const int64_t stream = e.number(e.findNumber("stream") != nullptr ? "stream" : "Stream");
  const int64_t device = e.number(e.findNumber("device") != nullptr ? "device" : "Device");
  Row row;
  row.start_ns = s.start_ns;
  row.duration_ns = s.duration_ns;
  row.name = e.name;
  row.process_id = s.at.process;
  row.stream_id = builder_.stream(s.at.pid, device, e.number("context"), stream);
  row.correlation_id = e.correlation;
  row.call_path_id = e.call_path;
  return row;
}

/// Pushes a slice of a trace that TraceSmith's exporter wrote: its category gives the original
/// table.
TableId PerfettoSlices::pushExported(const Slice& s) {
  Trace& rows = builder_.rows;
  const PerfettoEvent& e = s.event;
  const std::optional<CallKind> call = exportedCall(rows.text(e.category));
  if (!call) return pushRange(s);
  const std::string_view name = rows.text(e.name);
  const auto build = exportedBuild(name);
  if (call == CallKind::kBuild && build && e.word("program") != StringId::kNone) {
    const std::string program(rows.text(e.word("program")));
    rows.program_build.push({.start_ns = s.start_ns,
                             .duration_ns = s.duration_ns,
                             .kind = *build,
                             .process_id = s.at.process,
                             .thread_id = s.at.thread,
                             .program = std::strtoull(program.c_str(), nullptr, 16),
                             .result = e.number("result"),
                             .log_bytes = static_cast<uint64_t>(e.number("log_bytes")),
                             .options = e.word("options"),
                             .flags = e.number("asynchronous") != 0 ? 1u : 0u});
    return TableId::kProgramBuild;
  }
  const auto wait = exportedWait(name);
  if (call == CallKind::kSync && wait) {
    rows.sync.push({.start_ns = s.start_ns,
                    .duration_ns = s.duration_ns,
                    .kind = *wait,
                    .process_id = s.at.process,
                    .thread_id = s.at.thread,
                    .correlation_id = e.correlation,
                    .flags = op_flags::kHostSide,
                    .call_path_id = e.call_path});
    return TableId::kSync;
  }
  return pushCall(s, *call);
}

TableId PerfettoSlices::pushCall(const Slice& s, CallKind kind) {
  const PerfettoEvent& e = s.event;
  builder_.rows.host_call.push({.start_ns = s.start_ns,
                                .duration_ns = s.duration_ns,
                                .name = e.name,
                                .process_id = s.at.process,
                                .thread_id = s.at.thread,
                                .correlation_id = e.correlation,
                                .result = e.number("result"),
                                .kind = kind,
                                .call_path_id = e.call_path,
                                .subject = e.word("subject")});
  return TableId::kHostCall;
}

TableId PerfettoSlices::pushRange(const Slice& s) {
  const PerfettoEvent& e = s.event;
  RangeKind kind = s.kind;
  if (first_pass_.ours && e.number("unfinished") != 0) kind = RangeKind::kBegin;
  if (first_pass_.ours && e.number("stray_end") != 0) kind = RangeKind::kEnd;
  const bool plain = first_pass_.ours && builder_.rows.text(e.category) == "range";
  builder_.rows.range.push({.start_ns = s.start_ns,
                            .duration_ns = kind == RangeKind::kBegin ? 0 : s.duration_ns,
                            .kind = kind,
                            .name = e.name,
                            .category = plain ? StringId::kNone : e.category,
                            .process_id = s.at.process,
                            .thread_id = s.at.thread,
                            .correlation_id = e.correlation,
                            .call_path_id = e.call_path});
  return TableId::kRange;
}

void PerfettoSlices::finish() {
  std::stable_sort(late_.begin(), late_.end(),
                   [](const LateEvent& a, const LateEvent& b) { return a.time_ns < b.time_ns; });
  for (LateEvent& late : late_) apply(late.time_ns, late.key, late.place, std::move(late.event));
  writeFlowEnds();
  for (auto& [key, open] : open_) {
    for (Stack::StartedSlice& started : open.stack.open()) {
      writeSlice({open.place, started.start_ns, 0, RangeKind::kBegin, started.event});
    }
  }
}

}  // namespace tracesmith::import
