// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/summary_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/fleet/add_sums.hpp"
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

}  // namespace

void SummaryBuilder::beginPart() {
  for (Collectors& each : collectors_) each.kernels.resize(tables_.strings.size() + 1);
  if (comm_functions_ != nullptr && !has_comm_functions_) comm_functions_->finish();
  earlier_comm_functions_ = std::move(comm_functions_);
  comm_functions_ = std::make_unique<LaunchTimes>();
  if (earlier_comm_functions_ != nullptr) {
    earlier_comm_functions_->continueFrom(nullptr);
    comm_functions_->continueFrom(earlier_comm_functions_.get());
  }
  has_comm_functions_ = false;
}

void addEventCounts(const TraceScan& scan, std::map<std::string, uint64_t>& events) {
  forEachEventTable(scan.tables(), [&](const auto& table) {
    const uint64_t rows = scan.rowsRead(std::decay_t<decltype(table)>::kId);
    if (rows > 0) events[table.kName] += rows;
  });
}

Status SummaryBuilder::readComm(TraceScan& scan) {
  const auto read = [&](TableId table, auto&& add) {
    return scan.forEach(
        scan.blocksOf(std::span(&table, 1)), {},
        [](const Trace& rows, const ScanBlock&, unsigned) { return rows; },
        [&](Trace&& rows) { add(rows); });
  };
  TS_CHECK_OK(read(TableId::kComm, [&](const Trace& rows) { addComm(rows.comm); }));
  return read(TableId::kCommWork, [&](const Trace& rows) { addCommWork(rows.comm_work); });
}

bool SummaryBuilder::usesName(StringId name) const {
  const auto id = static_cast<size_t>(name);
  return comm_.contains(name) ||
         std::any_of(collectors_.begin(), collectors_.end(), [&](const Collectors& each) {
           return id < each.kernels.size() && each.kernels[id] != nullptr;
         });
}

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

}  // namespace tracesmith
