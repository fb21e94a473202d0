// SPDX-License-Identifier: Apache-2.0
// The parts of a report; each is a function that adds its tables.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/report/device_results.hpp"
#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/streaming/work_trace.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/model/frame_symbols.hpp"

namespace tracesmith::report_parts {

struct Maker {
  /// Of a trace in memory.
  Maker(const Trace& of, const ReportOptions& given)
      : trace(of),
        options(given),
        own_ops(DeviceOps::of(of, given.analysis)),
        ops(own_ops),
        own_results(resultsInMemory(of, ops, given.analysis)),
        results(own_results.get()),
        range(timeRange(of)) {
    nameStreams();
  }
  /// Of a file whose work is in memory; several makers may use it at the same time.
  Maker(const WorkResults& of, const ReportOptions& given,
        std::shared_ptr<const KernelLabels> names)
      : trace(of.work->trace),
        options(given),
        ops(of.work->ops),
        orders(&of.work->orders),
        results(of.results.get()),
        range(of.work->range),
        call_path_costs(&of.work->call_path_costs),
        labels(std::move(names)) {
    nameStreams();
  }
  /// Of a file whose events are not in memory, for parts that need no more than results.
  Maker(const Trace& tables_of_file, const ReportOptions& given,
        std::unique_ptr<DeviceResults> by_block)
      : trace(tables_of_file),
        options(given),
        ops(own_ops),
        own_results(std::move(by_block)),
        results(own_results.get()) {
    nameStreams();
  }
  Maker(const Maker&) = delete;  // results refer to ops
  Maker& operator=(const Maker&) = delete;

  const Trace& trace;
  const ReportOptions& options;
  const DeviceOps own_ops;
  const DeviceOps& ops;  ///< has none if the device's results were computed block by block
  const OpOrders* orders = nullptr;  ///< of ops; null: computed where needed
  const std::unique_ptr<DeviceResults> own_results;
  const DeviceResults* const results;
  std::vector<ReportTable> tables;
  TimeRange range;  ///< of the trace; the end is known only if events are in memory
  const std::vector<CallPathCost>* call_path_costs = nullptr;  ///< null: computed where needed
  /// Name of each stream, unique together with its device and process.
  std::vector<std::string> stream_names;
  bool name_processes = false;  ///< streams of several processes share a name

  /// Short names of kernels, if they are wanted; else empty.
  std::shared_ptr<const KernelLabels> labels = std::make_shared<KernelLabels>();

  ReportTable& table(std::string key, std::string title, std::vector<ReportColumn> columns) {
    tables.push_back({std::move(key), std::move(title), std::move(columns), {}, {}});
    return tables.back();
  }
  /// A kernel's name as the report shows it, or the name of other work.
  std::string workName(StringId name) const { return workName(trace.text(name)); }
  std::string workName(std::string_view name) const { return std::string(labels->label(name)); }
  void nameStreams();
  /// "device 0: NVIDIA H100".
  std::string deviceName(DeviceId id) const;
  /// Columns for device, process (if streams need it) and stream, and the values of a row.
  std::vector<ReportColumn> placeColumns() const;
  std::vector<ReportValue> place(DeviceId device, ProcessId process, StreamId stream) const;
  std::string processName(ProcessId id) const;
  size_t limit(size_t rows) const {
    return options.limit == 0 ? rows : std::min(rows, options.limit);
  }
  size_t longest(size_t rows) const {
    return options.longest == 0 ? rows : std::min(rows, options.longest);
  }
  int64_t beginNs() const { return range.begin_ns; }
};

inline ReportValue shareOf(int64_t part, int64_t whole) {
  if (whole <= 0) return std::monostate{};
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Appends text to the note under a table.
void note(ReportTable& table, const std::string& text);
/// Adds a note with the number of all rows, if some were left out.
void noteRest(ReportTable& table, size_t all);
/// Keeps only the rows with the largest values of a column (of int64_t), in descending order.
void keepLargest(const Maker& maker, ReportTable& table, std::string_view key);

/// "inner < its caller < ..."; for people only the innermost frames.
std::string callStackText(const Maker& maker, const CallPathTable& paths,
                          const FrameSymbols& symbols, CallPathId path);

void addUtilization(Maker& maker);
void addOverlap(Maker& maker);
void addIdleTimes(Maker& maker);
/// Part of idle times; adds nothing if the trace does not say what the host did.
void addLateHost(Maker& maker);
/// Part of hotspots; adds nothing if the trace has no stacks.
void addCallStacks(Maker& maker);
void addStreams(Maker& maker);
void addKernels(Maker& maker);
void addHotspots(Maker& maker);
void addMemory(Maker& maker);
void addCopies(Maker& maker);
void addCommunication(Maker& maker);
void addLaunches(Maker& maker);
void addQueueDepths(Maker& maker);
void addOccupancy(Maker& maker);
void addStepTimes(Maker& maker);
void addCriticalPath(Maker& maker);

}  // namespace tracesmith::report_parts
