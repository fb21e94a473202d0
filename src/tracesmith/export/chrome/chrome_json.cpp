// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/chrome/chrome_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "tracesmith/analysis/timing/runtime_frames.hpp"
#include "tracesmith/base/version.hpp"
#include "tracesmith/export/chrome/chrome_json_encoder.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/slices/counter_series.hpp"

namespace tracesmith {

using namespace chrome_keys;

ChromeJsonEncoder::ChromeJsonEncoder(const Trace& trace, Output& out,
                                     const ChromeJsonOptions& options, const Selection& selection,
                                     DeviceWork work)
    : trace_(trace),
      out_(out),
      options_(options),
      selection_(selection),
      work_(std::move(work)),
      tracks_(trace),
      quoted_(trace.strings) {
  if (options.flows) {
    links_ = Links(trace, selection, work_);
    launched_.assign(work_.number(WorkKind::kSync, trace.sync.size()) + 1, false);
  }
  if (options.full_args) attributes_ = RowAttributes(trace);
  if (!options.all_frames) shown_paths_ = withoutRuntimeFrames(trace);
  streams_ = trace.stream.size() + trace.process.size() + 1;
  lane_ends_.resize(streams_);
  assignTrackIds();
}

/// Viewers merge processes or threads that have equal numbers. So duplicates get new numbers, and
/// so do processes and threads of an imported trace that have only a name.
void ChromeJsonEncoder::assignTrackIds() {
  const ProcessTable& processes = trace_.process;
  // Pids of devices must not collide with real pids.
  for (uint32_t pid : processes.pid) device_pid_ = std::max<uint64_t>(device_pid_, pid + 1ull);
  uint64_t generated = device_pid_ + trace_.device.size();
  std::unordered_set<uint64_t> taken;
  for (const uint32_t pid : processes.pid) {
    pids_.push_back(taken.insert(pid).second ? pid : ++generated);
  }
  const ThreadTable& threads = trace_.thread;
  taken.clear();
  for (size_t i = 0; i < threads.size(); ++i) {
    const auto process = static_cast<uint64_t>(threads.process_id[i]);
    has_own_tid_.push_back(taken.insert(process << 32 | threads.tid[i]).second);
  }
}

void ChromeJsonEncoder::run() {
  out_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  writeNames();
  writeHostSlices();
  writeDeviceWork();
  writeDeviceArrows();
  if (options_.counters) writeCounters();
  out_.write("\n]");
  writeStackFrames();
  out_.write(",\"otherData\":");
  writeOtherData();
  out_.write("}\n");
}

void ChromeJsonEncoder::writeName(std::string_view what, uint64_t pid, const uint64_t* tid,
                                  std::string_view name) {
  JsonEvent e(out_, any_, 'M');
  e.raw(kName, what).number(kPid, pid);
  if (tid != nullptr) e.number(kTid, *tid);
  e.textArg("\"name\":", name);
}

void ChromeJsonEncoder::writeNames() {
  const ProcessTable& processes = trace_.process;
  for (size_t i = 0; i < processes.size(); ++i) {
    std::string_view name = trace_.text(processes.executable[i]);
    if (name.empty()) name = trace_.text(processes.command_line[i]);
    if (!name.empty()) writeName("\"process_name\"", pids_[i], nullptr, name);
    const std::string_view command = trace_.text(processes.command_line[i]);
    if (!command.empty()) {
      JsonEvent e(out_, any_, 'M');
      e.raw(kName, "\"process_labels\"").number(kPid, pids_[i]);
      e.textArg("\"labels\":", command);
    }
  }
  const DeviceTable& devices = trace_.device;
  for (size_t i = 0; i < devices.size(); ++i) {
    writeName("\"process_name\"", devicePid(idAt<DeviceId>(i)), nullptr,
              fmt::format("{} {}: {}", deviceWord(devices.kind[i]), devices.ordinal[i],
                          trace_.text(devices.name[i])));
  }
}

void ChromeJsonEncoder::writeArrow(char phase, std::string_view category, uint64_t id,
                                   const Place& place, int64_t ns) {
  JsonEvent e(out_, any_, phase);
  e.number(",\"id\":", id).number(kPid, place.pid).number(kTid, place.tid).time(kTs, ns);
  e.raw(kCat, category).raw(kName, category);
  if (phase == 'f') e.raw(",\"bp\":", "\"e\"");
}

void ChromeJsonEncoder::writeAttributes(JsonEvent& e, TableId table, uint64_t row) {
  for (uint32_t a : attributes_.of(table, row)) {
    const std::string_view key = attributes_.label(trace_, a);
    if (!key.empty()) e.namedArg(key, trace_.text(attributes_.value(a)));
  }
}

void ChromeJsonEncoder::writeCounters() {
  const CounterTrackTable& tracks = trace_.counter_track;
  forEachCounterValue(trace_, selection_, [&](CounterTrackId id, int64_t ns, double value) {
    if (!std::isfinite(value)) {
      ++unwritable_;  // JSON cannot represent NaN and infinities
      return;
    }
    uint64_t pid = 0;
    std::string name = "\"Unknown counter\"";
    if (id != CounterTrackId::kNone) {
      const size_t t = indexOf(id);
      name = quoted_.at(tracks.name[t]);
      name.insert(name.size() - 1, threadOfCounter(trace_, id));
      pid = tracks.device_id[t] != DeviceId::kNone ? devicePid(tracks.device_id[t])
                                                   : pidOf(tracks.process_id[t]);
    }
    JsonEvent e(out_, any_, 'C');
    e.raw(kName, name).number(kPid, pid).time(kTs, ns);
    e.rawArg("\"value\":", fmt::format("{}", value));
  });
  unmatched_frees_ = forEachMemoryValue(trace_, selection_,
                                        [&](const MemoryPool& pool, int64_t ns, uint64_t bytes) {
                                          JsonEvent e(out_, any_, 'C');
                                          e.raw(kName, '"' + memoryPoolName(trace_, pool) + '"');
                                          e.number(kPid, pidOf(pool.process)).time(kTs, ns);
                                          e.arg("\"bytes\":", bytes);
                                        });
}

void ChromeJsonEncoder::writeOtherData() {
  JsonWriter json(out_);
  json.beginObject().field("tracesmith_version", getVersionString());
  json.key("metadata").beginObject();
  std::unordered_map<std::string_view, size_t> last;  // the last value of a key counts
  const MetadataTable& metadata = trace_.metadata;
  for (size_t i = 0; i < metadata.size(); ++i) last[trace_.text(metadata.key[i])] = i;
  for (size_t i = 0; i < metadata.size(); ++i) {
    const std::string_view key = trace_.text(metadata.key[i]);
    if (last[key] == i) json.field(key, trace_.text(metadata.value[i]));
  }
  json.endObject().key("losses").beginArray();
  const LossTable& losses = trace_.loss;
  for (size_t i = 0; i < losses.size(); ++i) {
    json.beginObject().field("source", trace_.text(losses.source[i]));
    json.field("pid", pidOf(losses.process_id[i]));
    if (emittedIsKnown(losses, i)) json.field("emitted", losses.emitted[i]);
    json.field("written", losses.written[i]).field("dropped", losses.dropped[i]);
    json.field("unresolved", losses.unresolved[i]);
    json.field("reason", trace_.text(losses.reason[i])).endObject();
  }
  json.endArray();
  if (unwritable_ != 0) json.field("counter_values_that_json_can_not_hold", unwritable_);
  if (unmatched_frees_ != 0) json.field("unmatched_frees", unmatched_frees_);
  json.endObject();
}

Status writeChromeJson(const Trace& trace, Output& out, const ChromeJsonOptions& options) {
  if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns) {
    return fail(ErrorCode::kInvalidArgument, "the time range to export ends before it starts");
  }
  const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
  TS_TRY(DeviceWork work, DeviceWork::index(trace, selection));
  ChromeJsonEncoder(trace, out, options, selection, std::move(work)).run();
  return {};
}

Status exportChromeJson(const Trace& trace, const std::string& path,
                        const ChromeJsonOptions& options) {
  TS_TRY(Output out, Output::toFile(path));
  TS_CHECK_OK(writeChromeJson(trace, out, options));
  return out.finish();
}

}  // namespace tracesmith
