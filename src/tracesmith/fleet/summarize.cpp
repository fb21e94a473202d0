// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/summarize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/analysis/streaming/named_steps.hpp"
#include "tracesmith/analysis/streaming/time_sweep.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/fleet/add_sums.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {
namespace {

constexpr size_t kMostNames = 1000;  // of a map other than that of kernels

std::string nameOf(std::string_view text) {
  if (text.empty()) return "(unnamed)";
  if (text.size() <= kLongestSummaryName) return std::string(text);
  return fmt::format("{}...#{:016x}", text.substr(0, kLongestSummaryName - 20),
                     hash64(asBytes(text)));
}

const char* nameOf(IdleReason reason) {
  return reason == IdleReason::kHostWait     ? "host wait"
         : reason == IdleReason::kKernelWait ? "kernel wait"
                                             : "other";
}

class SummaryBuilder {
 public:
  /// `tables` has the dictionaries; addBlock() is called on threads 0 to `threads` - 1.
  SummaryBuilder(const Trace& tables, unsigned threads)
      : tables_(tables), sweep_(tables), collectors_(threads) {
    for (Collectors& each : collectors_) each.kernels.resize(tables.strings.size() + 1);
  }

  /// In any order, on any thread.
  void addBlock(std::span<const StreamedOp> ops, unsigned thread) {
    Collectors& to = collectors_[thread];
    for (const StreamedOp& op : ops) {
      const int64_t length = lengthOf(op.begin_ns, op.end_ns);
      to.without_launch += op.launch_ns == LaunchTimes::kNone ? 1 : 0;
      if (op.table == TableId::kKernel) {
        const auto id = static_cast<size_t>(op.name);
        auto& kernel = to.kernels[id < to.kernels.size() ? id : 0];
        if (kernel == nullptr) kernel = std::make_unique<ValueCollector>();
        kernel->add(length);
      } else {
        const bool is_fill = op.table == TableId::kFill;
        auto& copies = to.copies[is_fill ? std::string_view("fill") : toString(op.copy_kind)];
        copies.first.add(length);
        copies.second.add(op.bytes);
      }
    }
  }
  /// In the order of time.
  void addOp(const StreamedOp& op) {
    sweep_.add(op, [&](DeviceId, int64_t length, IdleReason reason) {
      gaps_[static_cast<size_t>(reason)].add(length);
    });
  }
  void addComm(const CommTable& comm) {
    HostCallTable ids;
    for (size_t i = 0; i < comm.size(); ++i) {
      Comm& function = comm_[comm.function[i]];
      function.call.add(comm.duration_ns[i]);
      function.sent.add(comm.send_bytes[i]);
      function.received.add(comm.receive_bytes[i]);
      ids.push({.start_ns = static_cast<int64_t>(comm.function[i]),
                .process_id = comm.process_id[i],
                .correlation_id = comm.correlation_id[i]});
    }
    if (!ids.empty()) comm_functions_.add(LaunchTimes::blockOf(ids, false));
  }
  /// After all addComm().
  void addCommWork(const CommWorkTable& work) {
    if (!has_comm_functions_) comm_functions_.finish();
    has_comm_functions_ = true;
    for (size_t i = 0; i < work.size(); ++i) {
      if (work.kind[i] != CommWorkKind::kOperation) continue;
      bool is_repeated = false;
      const int64_t function =
          comm_functions_.find(work.process_id[i], work.correlation_id[i], is_repeated).start_ns;
      if (function == LaunchTimes::kNone) continue;
      comm_[StringId{static_cast<uint32_t>(function)}].work.add(work.duration_ns[i]);
    }
  }
  void addSteps(const Steps& steps) {
    ValueCollector lengths;
    for (const Step& step : steps.all) lengths.add(step.duration());
    steps_ns_ = lengths.sums();
  }

  FleetSummary finish();

 private:
  struct Collectors {
    std::vector<std::unique_ptr<ValueCollector>> kernels;  // by name
    std::map<std::string_view, std::pair<ValueCollector, WideSum>> copies;
    uint64_t without_launch = 0;
  };
  struct Comm {
    ValueCollector call, work;
    WideSum sent, received;
  };

  void finishKernels(FleetSummary& out);
  void finishDevices(FleetSummary& out);
  void finishTables(FleetSummary& out) const;

  const Trace& tables_;
  TimeSweep sweep_;
  std::vector<Collectors> collectors_;  // by thread
  std::array<ValueCollector, 3> gaps_;  // by reason
  std::map<StringId, Comm> comm_;
  LaunchTimes comm_functions_;  // the function in place of the time
  bool has_comm_functions_ = false;
  ValueSums steps_ns_;
};

void SummaryBuilder::finishKernels(FleetSummary& out) {
  std::vector<ValueSums> by_name(tables_.strings.size() + 1);
  for (const Collectors& each : collectors_) {
    out.without_launch += each.without_launch;
    for (size_t id = 0; id < each.kernels.size(); ++id) {
      if (each.kernels[id] != nullptr) by_name[id].add(each.kernels[id]->sums());
    }
    for (const auto& [kind, sums] : each.copies) {
      addTo(out.copies[std::string(kind)], TransferSums{sums.first.sums(), sums.second});
    }
  }
  for (size_t id = 0; id < by_name.size(); ++id) {
    if (by_name[id].count == 0) continue;
    const std::string_view name = tables_.text(StringId{static_cast<uint32_t>(id)});
    out.families[std::string(toString(readKernelName(name).family))].add(by_name[id]);
    out.kernels[nameOf(name)].add(by_name[id]);
  }
}

void SummaryBuilder::finishDevices(FleetSummary& out) {
  constexpr double kMillion = 1e6;
  for (const TimeBreakdown& times : sweep_.byDevice()) {
    const auto id = static_cast<size_t>(times.device);
    const std::string name = id == 0 || id > tables_.device.size()
                                 ? "(unknown)"
                                 : nameOf(tables_.text(tables_.device.name[id - 1]));
    ClassTimes& device = out.devices[name];
    ++device.devices;
    const auto add = [](WideSum& sum, int64_t ns) { sum.add(static_cast<uint64_t>(ns)); };
    add(device.span_ns, times.span_ns);
    add(device.busy_ns, times.busy_ns);
    add(device.compute_ns, times.compute_ns);
    add(device.communication_ns, times.communication_ns);
    add(device.memory_ns, times.memory_ns);
    add(device.overlapped_ns, times.together_ns[3] + times.together_ns[7]);
    add(device.kernel_ns, times.kernel_ns);
    ValueCollector utilization;
    utilization.add(static_cast<int64_t>(times.kernelUtilization() * kMillion));
    device.utilization.add(utilization.sums());
    out.longest_ns.value = std::max(out.longest_ns.value, static_cast<uint64_t>(times.span_ns));
  }
  for (size_t reason = 0; reason < gaps_.size(); ++reason) {
    const ValueSums sums = gaps_[reason].sums();
    if (sums.count > 0) out.gaps[nameOf(static_cast<IdleReason>(reason))] = sums;
  }
}

/// What the tables say that are always read.
void SummaryBuilder::finishTables(FleetSummary& out) const {
  out.traces = 1;
  out.ranks = std::max<uint64_t>(1, tables_.rank.size());
  std::string source(tables_.metadataValue("producer"));
  if (const auto from = tables_.metadataValue("imported_format"); !from.empty()) source = from;
  ++out.sources[nameOf(source)];
  for (size_t i = 0; i < tables_.loss.size(); ++i) {
    out.dropped += tables_.loss.dropped[i];
    out.unresolved += tables_.loss.unresolved[i];
  }
  const auto widen = [&](int64_t error_ns) {
    if (error_ns <= 0) return;
    out.clock_error_ns.value = std::max(out.clock_error_ns.value, static_cast<uint64_t>(error_ns));
  };
  for (const int64_t error_ns : tables_.clock_snapshot.error_ns) widen(error_ns);
  for (const uint64_t error_ns : tables_.rank.clock_error_ns) {
    widen(static_cast<int64_t>(std::min<uint64_t>(error_ns, INT64_MAX)));
  }
}

FleetSummary SummaryBuilder::finish() {
  FleetSummary out;
  finishTables(out);
  finishKernels(out);
  finishDevices(out);
  out.steps_ns = steps_ns_;
  for (const auto& [function, comm] : comm_) {
    addTo(out.comm[nameOf(tables_.text(function))],
          CommSums{comm.call.sums(), comm.work.sums(), comm.sent, comm.received});
  }
  keepLargest(out.comm, kMostNames, [](const CommSums& sums) { return sums.call_ns.sum.low; });
  keepLargest(out.devices, kMostNames, [](const ClassTimes& times) { return times.span_ns.low; });
  return out;
}

/// Calls f(table) for the tables whose rows count as events.
template <class F>
void forEachEventTable(const Trace& trace, F&& f) {
  forEachTable(trace, [&](const auto& table) {
    using Table = const std::decay_t<decltype(table)>;
    if constexpr (sbt::SpanTable<Table> || sbt::InstantTable<Table>) f(table);
  });
}

}  // namespace

FleetSummary summarizeTrace(const Trace& trace) {
  SummaryBuilder builder(trace, 1);
  const std::vector<StreamedOp> ops = streamedOpsOf(trace, DeviceOps::of(trace));
  builder.addBlock(ops, 0);
  for (const StreamedOp& op : ops) builder.addOp(op);
  builder.addComm(trace.comm);
  builder.addCommWork(trace.comm_work);
  // Only those that it names: kernels that repeat are no steps that can be compared.
  builder.addSteps(stepsOf(trace, DeviceOps()));
  FleetSummary out = builder.finish();
  forEachEventTable(trace, [&](const auto& table) {
    if (!table.empty()) out.events[table.kName] = table.size();
  });
  return out;
}

Result<FleetSummary> summarizeScan(TraceScan& scan) {
  FleetSummary out;
  TS_TRY(const LaunchTimes launches, readLaunchTimes(scan));
  {
    SummaryBuilder builder(scan.tables(), scan.threads());
    TS_TRY(const StreamEnd end,
           streamDeviceOps(
               scan, launches,
               [&](const WorkBlock& block) { builder.addBlock(block.ops, block.thread); },
               [&](const StreamedOp& op) { builder.addOp(op); }));
    if (end == StreamEnd::kComplete) {
      const auto addTable = [&](TableId table, auto&& add) {
        return scan.forEach(
            scan.blocksOf(std::span(&table, 1)), {},
            [](const Trace& rows, const ScanBlock&, unsigned) { return rows; },
            [&](Trace&& rows) { add(rows); });
      };
      TS_CHECK_OK(addTable(TableId::kComm, [&](const Trace& rows) { builder.addComm(rows.comm); }));
      TS_CHECK_OK(addTable(TableId::kCommWork,
                           [&](const Trace& rows) { builder.addCommWork(rows.comm_work); }));
      TS_TRY(const Steps steps, readNamedSteps(scan));
      builder.addSteps(steps);
      out = builder.finish();
      TS_CHECK_OK(scan.checkRest());
      forEachEventTable(scan.tables(), [&](const auto& table) {
        const uint64_t rows = scan.rowsRead(std::decay_t<decltype(table)>::kId);
        if (rows > 0) out.events[table.kName] = rows;
      });
    } else {
      TS_TRY(const Trace whole, scan.reader().read());
      out = summarizeTrace(whole);
    }
  }
  TraceReader& reader = scan.reader();
  out.file_bytes = reader.fileBytes();
  out.versions[fmt::format("{}.{}", reader.versionMajor(), reader.versionMinor())] = 1;
  out.incomplete_traces = reader.complete() ? 0 : 1;
  std::map<uint64_t, uint64_t> damaged;  // a block counts once, however many columns are damaged
  for (const DataLoss& loss : scan.losses()) {
    uint64_t& bytes = damaged[loss.offset];
    bytes = std::max(bytes, loss.bytes);
  }
  for (const auto& [offset, bytes] : damaged) out.damaged_bytes += bytes;
  out.damaged_traces = out.damaged_bytes > reader.cutBytes() ? 1 : 0;
  return out;
}

}  // namespace tracesmith
