// SPDX-License-Identifier: Apache-2.0
// Writes host slices as "X" and "i" events, with the flows that start or end at them.
#include <fmt/format.h>

#include "tracesmith/export/chrome/chrome_json_encoder.hpp"

namespace tracesmith {

using namespace chrome_keys;

namespace {

/// Two categories (the format allows a list), because "copy" alone is also a device category.
std::string callCategory(CallKind kind) {
  constexpr std::string_view kNames[] = {"api",  "launch", "copy",  "fill",
                                         "sync", "memory", "build", "setup"};
  const auto k = static_cast<size_t>(kind);
  return fmt::format("\"host_call,{}\"", kNames[k < std::size(kNames) ? k : 0]);
}

}  // namespace

ChromeJsonEncoder::Place ChromeJsonEncoder::hostPlace(const HostSlice& slice, uint32_t lane) {
  const ThreadId thread = tracks_.thread(slice.track);
  Place place;
  place.pid = pidOf(tracks_.process(trace_, slice.track));
  // Threads keep their number. Tracks without one, and additional lanes, get numbers above all of
  // these.
  place.tid = thread != ThreadId::kNone && has_own_tid_[indexOf(thread)] && lane == 0
                  ? trace_.thread.tid[indexOf(thread)]
                  : (uint64_t{lane} + 1) * kFirstGeneratedThread + slice.track;
  const uint64_t key = uint64_t{lane} << 32 | slice.track;
  if (named_.insert(key).second) {
    std::string name;
    if (thread != ThreadId::kNone) {
      name = trace_.text(trace_.thread.name[indexOf(thread)]);
      if (name.empty()) name = fmt::format("Thread {}", trace_.thread.tid[indexOf(thread)]);
    } else if (const StreamId s = tracks_.stream(slice.track); s != StreamId::kNone) {
      name = fmt::format("Ranges of stream #{}", trace_.stream.ordinal[indexOf(s)]);
    } else {
      name = "Calls of unknown threads";
    }
    if (lane != 0) name += " (overlapping)";
    writeName("\"thread_name\"", place.pid, &place.tid, name);
  }
  return place;
}

void ChromeJsonEncoder::writeHostSlice(const HostSlice& slice, uint32_t lane) {
  const Place place = hostPlace(slice, lane);
  {
    JsonEvent e(out_, any_, slice.source == SliceSource::kInstant ? 'i' : 'X');
    describeSlice(e, slice);
    e.number(kPid, place.pid).number(kTid, place.tid).time(kTs, slice.start_ns);
    if (slice.source == SliceSource::kInstant) {
      e.raw(",\"s\":", "\"t\"");
    } else {
      e.time(kDur, duration(slice.start_ns, slice.end_ns));
    }
    writeStack(e, callPathOf(trace_, slice));
    writeArguments(e, slice);
  }
  if (!options_.flows) return;
  if (slice.source == SliceSource::kHostCall) {
    const HostCallTable& t = trace_.host_call;
    uint32_t w = work_.first(t.process_id[slice.row], t.correlation_id[slice.row]);
    for (; w != 0; w = work_.next(w)) {
      if (launched_[w]) continue;  // two calls have the same id: it belongs to the first one
      launched_[w] = true;
      writeArrow('s', "\"ac2g\"", w, place, slice.start_ns);
    }
  }
  for (const Links::HostLink& link : links_.ofSlice(slice.source, slice.row)) {
    using LinkKind = Links::LinkKind;
    if (link.what == LinkKind::kArrowOut || link.what == LinkKind::kArrowIn) {
      // "ac2g" and "wait" have id spaces of their own, so other flows must not use these names.
      std::string_view name = quoted_.at(link.name);
      if (name == "\"\"" || name == "\"ac2g\"" || name == "\"wait\"") name = "\"flow\"";
      writeArrow(link.what == LinkKind::kArrowOut ? 's' : 'f', name, link.value, place,
                 slice.start_ns);
    } else {
      const bool from_host = link.what == LinkKind::kSubmits;
      writeArrow(from_host ? 's' : 'f', "\"wait\"", ++arrows_, place, slice.start_ns);
      half_arrows_.push_back({arrows_, static_cast<uint32_t>(link.value), !from_host});
    }
  }
}

void ChromeJsonEncoder::describeSlice(JsonEvent& e, const HostSlice& slice) {
  switch (slice.source) {
    case SliceSource::kHostCall:
      e.raw(kCat, callCategory(trace_.host_call.kind[slice.row]));
      e.raw(kName, quoted_.at(callName(trace_.host_call, slice.row)));
      break;
    case SliceSource::kBuild:
      e.raw(kCat, "\"build\"");
      e.raw(kName, fmt::format("\"{} program\"", toString(trace_.program_build.kind[slice.row])));
      break;
    case SliceSource::kSync: {
      const StringId name = trace_.sync.name[slice.row];
      e.raw(kCat, "\"sync\"");
      e.raw(kName, name == StringId::kNone
                       ? fmt::format("\"{}\"", toString(trace_.sync.kind[slice.row]))
                       : std::string(quoted_.at(name)));
      break;
    }
    case SliceSource::kRange:
    case SliceSource::kInstant: {
      const StringId category = trace_.range.category[slice.row];
      e.raw(kCat, category == StringId::kNone ? "\"range\"" : quoted_.at(category));
      e.raw(kName, quoted_.at(trace_.range.name[slice.row]));
      break;
    }
  }
}

void ChromeJsonEncoder::writeArguments(JsonEvent& e, const HostSlice& slice) {
  const auto count = [&](std::string_view key, uint64_t v) {
    if (v != 0) e.arg(key, v);
  };
  switch (slice.source) {
    case SliceSource::kHostCall: {
      const HostCallTable& t = trace_.host_call;
      count("\"correlation\":", t.correlation_id[slice.row]);
      count("\"stream\":", static_cast<uint64_t>(t.stream_id[slice.row]));
      e.arg("\"result\":", t.result[slice.row]);
      if (t.subject[slice.row] != StringId::kNone) {
        e.rawArg("\"subject\":", quoted_.at(t.subject[slice.row]));
      }
      writeAttributes(e, TableId::kHostCall, slice.row);
      break;
    }
    case SliceSource::kBuild: {
      const ProgramBuildTable& t = trace_.program_build;
      count("\"correlation\":", t.correlation_id[slice.row]);
      e.arg("\"result\":", t.result[slice.row]);
      e.arg("\"log_bytes\":", t.log_bytes[slice.row]);
      if (t.options[slice.row] != StringId::kNone) {
        e.rawArg("\"options\":", quoted_.at(t.options[slice.row]));
      }
      writeAttributes(e, TableId::kProgramBuild, slice.row);
      break;
    }
    case SliceSource::kSync:
      count("\"correlation\":", trace_.sync.correlation_id[slice.row]);
      writeAttributes(e, TableId::kSync, slice.row);
      break;
    case SliceSource::kRange:
    case SliceSource::kInstant:
      count("\"correlation\":", trace_.range.correlation_id[slice.row]);
      if (slice.unfinished) e.rawArg("\"unfinished\":", "true");
      if (slice.stray_end) e.rawArg("\"stray_end\":", "true");
      writeAttributes(e, TableId::kRange, slice.row);
      break;
  }
  if (slice.cut) e.arg("\"full_duration_ns\":", duration(slice.start_ns, slice.true_end_ns));
}

void ChromeJsonEncoder::writeHostSlices() {
  const HostSlices slices(trace_, selection_, tracks_);
  slices.forEach([&](const HostSlice& slice) { writeHostSlice(slice, 0); },
                 [&](const HostSlice& slice, uint32_t lane) { writeHostSlice(slice, lane); });
}

}  // namespace tracesmith
