// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/perfetto_exporter.hpp"

#include <algorithm>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/model/event_appender.hpp"

namespace tracesmith {
namespace {

/// Exports all data of the events, including attributes that differ for each of them.
PerfettoOptions optionsOf(bool counters, bool flows, bool all_frames) {
  PerfettoOptions options;
  options.counters = counters;
  options.flows = flows;
  options.full_args = true;
  options.all_frames = all_frames;
  return options;
}

}  // namespace

Trace PerfettoExporter::traceOf(const std::vector<TraceEvent>& events,
                                const std::vector<CounterEvent>& counters) const {
  Trace trace;
  EventAppender appender(trace);
  appender.append(events);
  for (const CounterEvent& counter : counters) appender.append(counter);
  if (isCancelled()) return trace;

  // TraceEvents do not name their process; here they all belong to one.
  ProcessRow process;
  process.id = ProcessId(1);
  process.executable = trace.strings.intern(metadata_.process_name);
  trace.process.push(process);
  forEachTable(trace, [](auto& table) {
    if constexpr (requires { table.process_id; }) {
      std::fill(table.process_id.begin(), table.process_id.end(), ProcessId(1));
    }
  });
  const StringId thread_name = trace.strings.intern(metadata_.thread_name);
  for (StringId& name : trace.thread.name) {
    if (name == StringId::kNone) name = thread_name;
  }
  for (const auto& [key, value] : metadata_.custom_metadata) trace.setMetadata(key, value);

  if (!gpu_tracks_) {
    trace.kernel.clear();
    trace.copy.clear();
    trace.fill.clear();
    for (uint32_t& flags : trace.sync.flags) flags |= op_flags::kHostSide;
  }
  return trace;
}

bool PerfettoExporter::keep(const Status& status) {
  last_status_ = status;
  last_error_ = status ? std::string() : status.error().toString();
  return status.has_value();
}

bool PerfettoExporter::exportToFile(const std::vector<TraceEvent>& events,
                                    const std::string& path) {
  return exportToFile(events, {}, path);
}

bool PerfettoExporter::exportToFile(const std::vector<TraceEvent>& events,
                                    const std::vector<CounterEvent>& counters,
                                    const std::string& path) {
  const Trace trace = traceOf(events, counters);
  if (const Status wanted = checkCancelled(); !wanted) return keep(wanted);
  return keep(exportChromeJson(trace, path, optionsOf(counter_tracks_, flow_events_, all_frames_)));
}

std::string PerfettoExporter::exportToString(const std::vector<TraceEvent>& events) {
  return exportToString(events, {});
}

std::string PerfettoExporter::exportToString(const std::vector<TraceEvent>& events,
                                             const std::vector<CounterEvent>& counters) {
  std::string text;
  Output out = Output::toString(&text);
  const Trace trace = traceOf(events, counters);
  const Status written =
      writeChromeJson(trace, out, optionsOf(counter_tracks_, flow_events_, all_frames_));
  if (!keep(written) || !keep(out.finish())) return {};
  return text;
}

bool PerfettoProtoExporter::exportToFile(const std::vector<TraceEvent>& events,
                                         const std::string& path) {
  return exportToFile(events, {}, path);
}

bool PerfettoProtoExporter::exportToFile(const std::vector<TraceEvent>& events,
                                         const std::vector<CounterEvent>& counters,
                                         const std::string& path) {
  if (format_ == Format::JSON) return PerfettoExporter::exportToFile(events, counters, path);
  const Trace trace = traceOf(events, counters);
  if (const Status wanted = checkCancelled(); !wanted) return keep(wanted);
  return keep(exportPerfetto(trace, path, optionsOf(counter_tracks_, flow_events_, all_frames_)));
}

}  // namespace tracesmith
