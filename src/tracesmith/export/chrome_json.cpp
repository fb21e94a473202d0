// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/chrome_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tracesmith/base/version.hpp"
#include "tracesmith/export/counter_series.hpp"
#include "tracesmith/export/device_work.hpp"
#include "tracesmith/export/host_slices.hpp"
#include "tracesmith/export/json_event.hpp"
#include "tracesmith/export/json_writer.hpp"
#include "tracesmith/export/perfetto_links.hpp"
#include "tracesmith/export/row_attributes.hpp"

namespace tracesmith {
namespace {

constexpr std::string_view kPid = ",\"pid\":";
constexpr std::string_view kTid = ",\"tid\":";
constexpr std::string_view kTs = ",\"ts\":";
constexpr std::string_view kDur = ",\"dur\":";
constexpr std::string_view kName = ",\"name\":";
constexpr std::string_view kCat = ",\"cat\":";

class ChromeJson {
 public:
  ChromeJson(const Trace& trace, Output& out, const ChromeJsonOptions& options,
             const Selection& selection, DeviceWork work)
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
    streams_ = trace.stream.size() + trace.process.size() + 1;
    lane_ends_.resize(streams_);
    // Real process numbers must not meet those that stand for devices.
    for (uint32_t pid : trace.process.pid)
      device_pid_ = std::max<uint64_t>(device_pid_, pid + 1ull);
  }

  void run() {
    out_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    describe();
    hostSlices();
    deviceWork();
    deviceArrows();
    if (options_.counters) counters();
    out_.write("\n],\"otherData\":");
    otherData();
    out_.write("}\n");
  }

 private:
  struct Place {
    uint64_t pid = 0;
    uint64_t tid = 0;
  };
  /// The other end of an arrow between a host slice and device work.
  struct HalfArrow {
    uint64_t id;
    uint32_t work;
    bool starts_at_work;
  };

  uint64_t pidOf(ProcessId process) const {
    const auto p = static_cast<size_t>(process);
    return p == 0 || p > trace_.process.size() ? 0 : trace_.process.pid[p - 1];
  }
  uint64_t devicePid(DeviceId device) const {
    const auto d = static_cast<size_t>(device);
    return device_pid_ + (d <= trace_.device.size() ? d : 0);
  }
  size_t streamIndex(StreamId stream, ProcessId process) const {
    const auto s = static_cast<size_t>(stream);
    if (s != 0 && s <= trace_.stream.size()) return s - 1;
    const auto p = static_cast<size_t>(process);
    return trace_.stream.size() + (p <= trace_.process.size() ? p : 0);
  }

  void named(std::string_view what, uint64_t pid, const uint64_t* tid, std::string_view name) {
    JsonEvent e(out_, any_, 'M');
    e.raw(kName, what).number(kPid, pid);
    if (tid != nullptr) e.number(kTid, *tid);
    e.textArg("\"name\":", name);
  }

  void describe() {
    const ProcessTable& processes = trace_.process;
    for (size_t i = 0; i < processes.size(); ++i) {
      std::string_view name = trace_.text(processes.executable[i]);
      if (name.empty()) name = trace_.text(processes.command_line[i]);
      named("\"process_name\"", processes.pid[i], nullptr, name);
      const std::string_view command = trace_.text(processes.command_line[i]);
      if (!command.empty()) {
        JsonEvent e(out_, any_, 'M');
        e.raw(kName, "\"process_labels\"").number(kPid, processes.pid[i]);
        e.textArg("\"labels\":", command);
      }
    }
    const DeviceTable& devices = trace_.device;
    for (size_t i = 0; i < devices.size(); ++i) {
      named("\"process_name\"", devicePid(idAt<DeviceId>(i)), nullptr,
            fmt::format("GPU {}: {}", devices.ordinal[i], trace_.text(devices.name[i])));
    }
  }

  /// The place of a host slice; the thread's name is written when it is first used.
  Place hostPlace(const HostSlice& slice, uint32_t lane) {
    const ThreadId thread = tracks_.thread(slice.track);
    Place place;
    place.pid = pidOf(tracks_.process(trace_, slice.track));
    // Threads keep their number; what is no thread, or a further lane, gets one past all of them.
    place.tid = thread != ThreadId::kNone && lane == 0
                    ? trace_.thread.tid[indexOf(thread)]
                    : (uint64_t{lane} + 1) * kFirstMadeUpThread + slice.track;
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
      named("\"thread_name\"", place.pid, &place.tid, name);
    }
    return place;
  }

  void arrow(char phase, std::string_view category, uint64_t id, const Place& place, int64_t ns) {
    JsonEvent e(out_, any_, phase);
    e.number(",\"id\":", id).number(kPid, place.pid).number(kTid, place.tid).time(kTs, ns);
    e.raw(kCat, category).raw(kName, category);
    if (phase == 'f') e.raw(",\"bp\":", "\"e\"");
  }

  void attributes(JsonEvent& e, TableId table, uint64_t row) {
    for (uint32_t a : attributes_.of(table, row)) {
      const std::string_view key = attributes_.label(trace_, a);
      if (!key.empty()) e.namedArg(key, trace_.text(attributes_.value(a)));
    }
  }

  void hostSlice(const HostSlice& slice, uint32_t lane) {
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
      arguments(e, slice);
    }
    if (!options_.flows) return;
    if (slice.source == SliceSource::kHostCall) {
      const HostCallTable& t = trace_.host_call;
      uint32_t w = work_.first(t.process_id[slice.row], t.correlation_id[slice.row]);
      for (; w != 0; w = work_.next(w)) {
        if (launched_[w]) continue;  // two calls under one id: the first one has it
        launched_[w] = true;
        arrow('s', "\"ac2g\"", w, place, slice.start_ns);
      }
    }
    for (const Links::HostLink& link : links_.ofSlice(slice.source, slice.row)) {
      using What = Links::What;
      if (link.what == What::kArrowOut || link.what == What::kArrowIn) {
        arrow(link.what == What::kArrowOut ? 's' : 'f', "\"flow\"", link.value, place,
              slice.start_ns);
      } else {
        const bool from_host = link.what == What::kSubmits;
        arrow(from_host ? 's' : 'f', "\"wait\"", ++arrows_, place, slice.start_ns);
        half_arrows_.push_back({arrows_, static_cast<uint32_t>(link.value), !from_host});
      }
    }
  }

  void describeSlice(JsonEvent& e, const HostSlice& slice) {
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

  void arguments(JsonEvent& e, const HostSlice& slice) {
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
        attributes(e, TableId::kHostCall, slice.row);
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
        attributes(e, TableId::kProgramBuild, slice.row);
        break;
      }
      case SliceSource::kSync:
        count("\"correlation\":", trace_.sync.correlation_id[slice.row]);
        attributes(e, TableId::kSync, slice.row);
        break;
      case SliceSource::kRange:
      case SliceSource::kInstant:
        count("\"correlation\":", trace_.range.correlation_id[slice.row]);
        if (slice.unfinished) e.rawArg("\"unfinished\":", "true");
        if (slice.stray_end) e.rawArg("\"stray_end\":", "true");
        attributes(e, TableId::kRange, slice.row);
        break;
    }
    if (slice.cut) e.arg("\"full_duration_ns\":", duration(slice.start_ns, slice.true_end_ns));
  }

  static int64_t duration(int64_t start_ns, int64_t end_ns) {
    return static_cast<int64_t>(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(start_ns));
  }

  static std::string_view callCategory(CallKind kind) {
    constexpr std::string_view kNames[] = {"\"api\"",  "\"launch\"", "\"copy\"",  "\"fill\"",
                                           "\"sync\"", "\"memory\"", "\"build\"", "\"setup\""};
    const auto k = static_cast<size_t>(kind);
    return kNames[k < std::size(kNames) ? k : 0];
  }

  void hostSlices() {
    const HostSlices slices(trace_, selection_, tracks_);
    slices.forEach([&](const HostSlice& slice) { hostSlice(slice, 0); },
                   [&](const HostSlice& slice, uint32_t lane) { hostSlice(slice, lane); });
  }

  /// Rows of a table in order of time: row numbers, or nothing when they are in order already.
  template <class Table>
  static std::vector<uint32_t> timeOrder(const Table& table) {
    std::vector<uint32_t> order;
    if (std::is_sorted(table.start_ns.begin(), table.start_ns.end())) return order;
    order.resize(table.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return table.start_ns[a] < table.start_ns[b]; });
    return order;
  }

  /// All device work in order of time, which the lanes of a stream need: a merge of four tables.
  void deviceWork() {
    std::vector<uint32_t> order[kWorkKinds];
    size_t rows[kWorkKinds] = {};
    size_t at[kWorkKinds] = {};
    const int64_t* starts[kWorkKinds] = {};
    forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
      const auto k = static_cast<size_t>(kind);
      order[k] = timeOrder(table);
      rows[k] = table.size();
      starts[k] = table.start_ns.data();
    });
    while (!out_.failed()) {
      size_t next = kWorkKinds;
      int64_t earliest = 0;
      for (size_t k = 0; k < kWorkKinds; ++k) {
        if (at[k] == rows[k]) continue;
        const int64_t start = starts[k][order[k].empty() ? at[k] : order[k][at[k]]];
        if (next == kWorkKinds || start < earliest) {
          next = k;
          earliest = start;
        }
      }
      if (next == kWorkKinds) return;
      const size_t row = order[next].empty() ? at[next] : order[next][at[next]];
      ++at[next];
      switch (static_cast<WorkKind>(next)) {
        case WorkKind::kKernel:
          work(trace_.kernel, WorkKind::kKernel, row);
          break;
        case WorkKind::kCopy:
          work(trace_.copy, WorkKind::kCopy, row);
          break;
        case WorkKind::kFill:
          work(trace_.fill, WorkKind::kFill, row);
          break;
        case WorkKind::kSync:
          work(trace_.sync, WorkKind::kSync, row);
          break;
      }
    }
  }

  Place devicePlace(size_t stream, uint32_t lane) const {
    Place place;
    place.pid = devicePid(stream < trace_.stream.size() ? trace_.stream.device_id[stream]
                                                        : DeviceId::kNone);
    place.tid = stream + 1 + lane * streams_;
    return place;
  }

  /// The first lane of the stream that is free at `start_ns`; named when it is new.
  uint32_t takeLane(size_t stream, int64_t start_ns, int64_t end_ns) {
    std::vector<int64_t>& ends = lane_ends_[stream];
    uint32_t lane = 0;
    while (lane < ends.size() && ends[lane] > start_ns && lane + 1 < kMaxLanes) ++lane;
    if (lane < ends.size()) {
      ends[lane] = std::max(ends[lane], end_ns);
      return lane;
    }
    ends.push_back(end_ns);
    std::string name = "Unknown stream";
    if (stream < trace_.stream.size()) {
      name = fmt::format("Stream #{}", trace_.stream.ordinal[stream]);
      const std::string_view given = trace_.text(trace_.stream.name[stream]);
      if (!given.empty()) name += fmt::format(" {}", given);
      if (trace_.process.size() > 1) {
        name += fmt::format(" ({})", pidOf(trace_.stream.process_id[stream]));
      }
    }
    if (lane != 0) name += " (overlapping)";
    const Place place = devicePlace(stream, lane);
    named("\"thread_name\"", place.pid, &place.tid, name);
    return lane;
  }

  template <class Table>
  void work(const Table& table, WorkKind kind, size_t row) {
    if (!takesWork(table, row, selection_)) return;
    const size_t stream = streamIndex(table.stream_id[row], table.process_id[row]);
    const int64_t start_ns = table.start_ns[row];
    const int64_t end_ns = endOf(start_ns, table.duration_ns[row]);
    const uint32_t lane = takeLane(stream, start_ns, end_ns);
    const Place place = devicePlace(stream, lane);
    const uint64_t number = work_.number(kind, row);
    if (lane != 0 && options_.flows) lanes_[number] = lane;
    {
      JsonEvent e(out_, any_, 'X');
      if constexpr (Table::kId == TableId::kKernel) {
        e.raw(kCat, "\"kernel\"").raw(kName, quoted_.at(table.name[row]));
      } else {
        const char* category = kind == WorkKind::kCopy   ? "\"copy\""
                               : kind == WorkKind::kFill ? "\"fill\""
                                                         : "\"sync\"";
        e.raw(kCat, category);
        if (table.name[row] != StringId::kNone) {
          e.raw(kName, quoted_.at(table.name[row]));
        } else if constexpr (Table::kId == TableId::kFill) {
          e.raw(kName, "\"fill\"");
        } else {
          e.raw(kName, fmt::format("\"{}{}\"", kind == WorkKind::kCopy ? "copy " : "",
                                   toString(table.kind[row])));
        }
      }
      e.number(kPid, place.pid).number(kTid, place.tid).time(kTs, start_ns);
      e.time(kDur, duration(start_ns, end_ns));
      deviceArguments(e, table, row);
    }
    if (options_.flows && launched_[number]) arrow('f', "\"ac2g\"", number, place, start_ns);
  }

  template <class Table>
  void deviceArguments(JsonEvent& e, const Table& table, size_t row) {
    e.arg("\"correlation\":", table.correlation_id[row]);
    const StreamId stream = table.stream_id[row];
    const auto s = static_cast<size_t>(stream);
    if (s != 0 && s <= trace_.stream.size()) {
      e.arg("\"device\":", static_cast<uint64_t>(trace_.stream.device_id[s - 1]));
      e.arg("\"context\":", static_cast<uint64_t>(trace_.stream.context_id[s - 1]));
      e.arg("\"stream\":", static_cast<uint64_t>(stream));
    }
    if constexpr (Table::kId == TableId::kKernel) {
      const auto shape = static_cast<size_t>(table.shape_id[row]);
      if (shape != 0 && shape <= trace_.launch_shape.size()) shapeArguments(e, shape - 1);
    }
    if constexpr (requires { table.bytes; }) e.arg("\"bytes\":", table.bytes[row]);
    const uint32_t flags = table.flags[row];
    if (flags & op_flags::kFirstLaunch) e.rawArg("\"first_launch\":", "true");
    if (flags & op_flags::kFailed) e.arg("\"status\":", table.status[row]);
    if (flags & op_flags::kNoDeviceTime) e.rawArg("\"device_time\":", "\"none\"");
    if (flags & op_flags::kDeviceClock) e.rawArg("\"clock\":", "\"device, not converted\"");
    if (flags & op_flags::kSynthetic) e.rawArg("\"simulated\":", "true");
    if (!options_.full_args) return;
    if (flags & op_flags::kQueueTimes) {
      e.arg("\"queued_before_ns\":", table.queued_before_ns[row]);
      e.arg("\"submitted_before_ns\":", table.submitted_before_ns[row]);
    }
    if constexpr (requires { table.arguments; }) {
      if (table.arguments[row] != StringId::kNone) {
        e.rawArg("\"arguments\":", quoted_.at(table.arguments[row]));
      }
    }
    attributes(e, Table::kId, row);
  }

  /// Groups per dimension, rounded up; the global size alone where the driver chose the groups.
  void shapeArguments(JsonEvent& e, size_t shape) {
    const LaunchShapeRow r = trace_.launch_shape.row(shape);
    const auto triple = [&](std::string_view key, uint64_t x, uint64_t y, uint64_t z) {
      char text[72];
      char* p = text;
      *p++ = '[';
      p = putDecimal(p, x);
      *p++ = ',';
      p = putDecimal(p, y);
      *p++ = ',';
      p = putDecimal(p, z);
      *p++ = ']';
      e.rawArg(key, {text, static_cast<size_t>(p - text)});
    };
    const auto one = [](uint64_t n) { return std::max<uint64_t>(n, 1); };
    const uint64_t gy = one(r.global_y);
    const uint64_t gz = one(r.global_z);
    if (r.local_x == 0) {
      triple("\"global\":", r.global_x, gy, gz);
    } else {
      const uint64_t ly = one(r.local_y);
      const uint64_t lz = one(r.local_z);
      const auto groups = [](uint64_t n, uint64_t size) { return n / size + (n % size != 0); };
      triple("\"grid\":", groups(r.global_x, r.local_x), groups(gy, ly), groups(gz, lz));
      triple("\"block\":", r.local_x, ly, lz);
    }
    if (r.registers_per_thread != 0) e.arg("\"registers_per_thread\":", r.registers_per_thread);
    if (r.static_shared_bytes != 0) e.arg("\"shared_mem_static\":", r.static_shared_bytes);
    if (r.dynamic_shared_bytes != 0) e.arg("\"shared_mem_dynamic\":", r.dynamic_shared_bytes);
  }

  /// Where a piece of device work lies, and when it began.
  std::pair<Place, int64_t> placeOf(uint64_t number) const {
    std::pair<Place, int64_t> found;
    forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
      const uint64_t first = work_.number(kind, 0);
      if (number < first || number - first >= table.size()) return;
      const size_t row = number - first;
      const auto lane = lanes_.find(number);
      found.first = devicePlace(streamIndex(table.stream_id[row], table.process_id[row]),
                                lane == lanes_.end() ? 0 : lane->second);
      found.second = table.start_ns[row];
    });
    return found;
  }

  void deviceArrows() {
    if (!options_.flows) return;
    forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
      for (size_t row = 0; row < table.size() && !out_.failed(); ++row) {
        const uint64_t to = work_.number(kind, row);
        for (uint32_t from : links_.waits(to)) {
          const auto [from_place, from_ns] = placeOf(from);
          const auto [to_place, to_ns] = placeOf(to);
          ++arrows_;
          arrow('s', "\"wait\"", arrows_, from_place, from_ns);
          arrow('f', "\"wait\"", arrows_, to_place, to_ns);
        }
      }
    });
    for (const HalfArrow& half : half_arrows_) {
      const auto [place, ns] = placeOf(half.work);
      arrow(half.starts_at_work ? 's' : 'f', "\"wait\"", half.id, place, ns);
    }
  }

  void counters() {
    const CounterTrackTable& tracks = trace_.counter_track;
    forEachCounterValue(trace_, selection_, [&](CounterTrackId id, int64_t ns, double value) {
      if (!std::isfinite(value)) {
        ++unwritable_;  // JSON has no such number
        return;
      }
      uint64_t pid = 0;
      std::string_view name = "\"Unknown counter\"";
      if (id != CounterTrackId::kNone) {
        const size_t t = indexOf(id);
        name = quoted_.at(tracks.name[t]);
        pid = tracks.device_id[t] != DeviceId::kNone ? devicePid(tracks.device_id[t])
                                                     : pidOf(tracks.process_id[t]);
      }
      JsonEvent e(out_, any_, 'C');
      e.raw(kName, name).number(kPid, pid).time(kTs, ns);
      e.rawArg("\"value\":", fmt::format("{}", value));
    });
    unmatched_frees_ = forEachMemoryValue(
        trace_, selection_, [&](ProcessId process, ContextId context, int64_t ns, uint64_t bytes) {
          JsonEvent e(out_, any_, 'C');
          const auto c = static_cast<size_t>(context);
          e.raw(kName, c != 0 && c <= trace_.context.size()
                           ? fmt::format("\"Allocated device memory, context #{}\"",
                                         trace_.context.ordinal[c - 1])
                           : std::string("\"Allocated device memory\""));
          e.number(kPid, pidOf(process)).time(kTs, ns);
          e.arg("\"bytes\":", bytes);
        });
  }

  void otherData() {
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
      json.field("pid", pidOf(losses.process_id[i])).field("emitted", losses.emitted[i]);
      json.field("written", losses.written[i]).field("dropped", losses.dropped[i]);
      json.field("unresolved", losses.unresolved[i]);
      json.field("reason", trace_.text(losses.reason[i])).endObject();
    }
    json.endArray();
    if (unwritable_ != 0) json.field("counter_values_that_json_can_not_hold", unwritable_);
    if (unmatched_frees_ != 0) json.field("unmatched_frees", unmatched_frees_);
    json.endObject();
  }

  static constexpr uint64_t kFirstMadeUpThread = 1'000'000'000;

  const Trace& trace_;
  Output& out_;
  const ChromeJsonOptions& options_;
  const Selection& selection_;
  DeviceWork work_;
  Links links_;
  RowAttributes attributes_;
  HostTracks tracks_;
  QuotedStrings quoted_;
  bool any_ = false;
  uint64_t device_pid_ = 10'000'000;  // pid of the unknown device; the others follow
  size_t streams_ = 0;
  std::vector<std::vector<int64_t>> lane_ends_;   // per stream, per lane
  std::unordered_map<uint64_t, uint32_t> lanes_;  // of work that is not on lane 0
  std::vector<bool> launched_;                    // work whose arrow has begun at its launch
  std::unordered_set<uint64_t> named_;            // (lane, track) whose name is written
  std::vector<HalfArrow> half_arrows_;
  uint64_t arrows_ = 0;
  uint64_t unwritable_ = 0;
  uint64_t unmatched_frees_ = 0;
};

}  // namespace

Status writeChromeJson(const Trace& trace, Output& out, const ChromeJsonOptions& options) {
  if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns) {
    return fail(ErrorCode::kInvalidArgument, "the stretch to export ends before it begins");
  }
  const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
  TS_TRY(DeviceWork work, DeviceWork::index(trace, selection));
  ChromeJson(trace, out, options, selection, std::move(work)).run();
  return {};
}

Status exportChromeJson(const Trace& trace, const std::string& path,
                        const ChromeJsonOptions& options) {
  TS_TRY(Output out, Output::toFile(path));
  TS_CHECK_OK(writeChromeJson(trace, out, options));
  return out.finish();
}

}  // namespace tracesmith
