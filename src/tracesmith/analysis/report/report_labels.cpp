// SPDX-License-Identifier: Apache-2.0
// Labels of devices, processes and streams in reports.
#include <map>
#include <set>
#include <tuple>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/model/names/device_names.hpp"

namespace tracesmith::report_parts {

std::string Maker::deviceName(DeviceId id) const { return tracesmith::deviceName(trace, id); }

std::string Maker::processName(ProcessId id) const {
  const auto i = static_cast<size_t>(id);
  if (i == 0 || i > trace.process.size()) return "unknown";
  return std::to_string(trace.process.pid[i - 1]);
}

void Maker::nameStreams() {
  stream_names.assign(trace.stream.size() + 1, "no stream");
  for (size_t i = 0; i < trace.stream.size(); ++i) {
    const std::string_view text = trace.text(trace.stream.name[i]);
    stream_names[i + 1] = text.empty() ? std::to_string(trace.stream.ordinal[i]) : text;
  }
  // Stream numbers are per process or per context.
  std::map<std::pair<DeviceId, std::string>, std::set<ProcessId>> processes;
  std::map<std::tuple<DeviceId, ProcessId, std::string>, std::vector<StreamId>> same;
  const auto add = [&](StreamId stream, DeviceId device, ProcessId process) {
    const auto i = static_cast<size_t>(stream);
    if (i >= stream_names.size()) return;
    processes[{device, stream_names[i]}].insert(process);
    same[{device, process, stream_names[i]}].push_back(stream);
  };
  if (&ops == &own_ops && ops.ops.empty()) {
    for (const StreamUse& s : results->streams()) add(s.stream, s.device, s.process);
  }
  for (const StreamOps& s : ops.streams) add(s.stream, s.device, ops.ops[s.begin].process);
  for (const auto& [place, of] : processes) name_processes = name_processes || of.size() > 1;
  for (const auto& [place, streams] : same) {
    if (streams.size() < 2) continue;
    std::set<uint32_t> contexts;
    const auto contextOf = [&](StreamId id) {
      const auto context = static_cast<size_t>(trace.contextOf(id));
      return context == 0 || context > trace.context.size() ? 0U
                                                            : trace.context.ordinal[context - 1];
    };
    for (const StreamId id : streams) contexts.insert(contextOf(id));
    const bool by_context = contexts.size() == streams.size();
    size_t number = 0;
    for (const StreamId id : streams) {
      stream_names[static_cast<size_t>(id)] +=
          by_context ? " (context " + std::to_string(contextOf(id)) + ")"
                     : " (#" + std::to_string(++number) + ")";
    }
  }
}

std::vector<ReportColumn> Maker::placeColumns() const {
  std::vector<ReportColumn> columns = {{"device", "device", Quantity::kText}};
  if (name_processes) columns.push_back({"process", "process", Quantity::kText});
  columns.push_back({"stream", "stream", Quantity::kText});
  return columns;
}

std::vector<ReportValue> Maker::place(DeviceId device, ProcessId process, StreamId stream) const {
  std::vector<ReportValue> values = {deviceName(device)};
  if (name_processes) values.emplace_back(processName(process));
  const auto i = static_cast<size_t>(stream);
  values.emplace_back(stream_names[i < stream_names.size() ? i : 0]);
  return values;
}

}  // namespace tracesmith::report_parts
