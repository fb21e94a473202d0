// SPDX-License-Identifier: Apache-2.0
// Collects what a FleetSummary has from blocks of events.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tracesmith/analysis/streaming/device_op_stream.hpp"
#include "tracesmith/analysis/streaming/launch_times.hpp"
#include "tracesmith/analysis/streaming/time_sweep.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"
#include "tracesmith/fleet/value_sums.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/trace_scan.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Calls f(table) for the tables whose rows count as events.
template <class F>
void forEachEventTable(const Trace& trace, F&& f) {
  forEachTable(trace, [&](const auto& table) {
    using Table = const std::decay_t<decltype(table)>;
    if constexpr (sbt::SpanTable<Table> || sbt::InstantTable<Table>) f(table);
  });
}
/// Adds how many rows of each of these tables `scan` has read.
void addEventCounts(const TraceScan& scan, std::map<std::string, uint64_t>& events);

class SummaryBuilder {
 public:
  /// `tables` has the dictionaries; addBlock() is called on threads 0 to `threads` - 1.
  SummaryBuilder(const Trace& tables, unsigned threads)
      : tables_(tables), sweep_(tables), collectors_(threads) {
    beginPart();
  }

  /// The tables may have got more rows since; what follows are later events of the same recording.
  void beginPart();

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
    if (!ids.empty()) comm_functions_->add(LaunchTimes::blockOf(ids, false));
  }
  /// Reads calls of communication libraries, and their work.
  Status readComm(TraceScan& scan);
  /// After all addComm().
  void addCommWork(const CommWorkTable& work) {
    if (!has_comm_functions_) comm_functions_->finish();
    has_comm_functions_ = true;
    for (size_t i = 0; i < work.size(); ++i) {
      if (work.kind[i] != CommWorkKind::kOperation) continue;
      bool is_repeated = false;
      const int64_t function =
          comm_functions_->find(work.process_id[i], work.correlation_id[i], is_repeated).start_ns;
      if (function == LaunchTimes::kNone) continue;
      comm_[StringId{static_cast<uint32_t>(function)}].work.add(work.duration_ns[i]);
    }
  }
  void addSteps(const Steps& steps) {
    ValueCollector lengths;
    for (const Step& step : steps.all) lengths.add(step.duration());
    setSteps(lengths.sums());
  }
  void setSteps(ValueSums steps_ns) { steps_ns_ = std::move(steps_ns); }

  /// Whether the sums so far need the text of this name.
  bool usesName(StringId name) const;

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
  /// The function in place of the time; of this part and of the part before.
  std::unique_ptr<LaunchTimes> comm_functions_, earlier_comm_functions_;
  bool has_comm_functions_ = false;
  ValueSums steps_ns_;
};

}  // namespace tracesmith
