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

#include "tracesmith/analysis/streaming/named_steps.hpp"
#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/fleet/summary_builder.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

FleetSummary summarizeTrace(const Trace& trace) {
  SummaryBuilder builder(trace, 1);
  const std::vector<StreamedOp> ops = streamedOpsOf(trace, DeviceOps::of(trace, {}, 1));
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
      TS_CHECK_OK(builder.readComm(scan));
      TS_TRY(const Steps steps, readNamedSteps(scan));
      builder.addSteps(steps);
      out = builder.finish();
      TS_CHECK_OK(scan.checkRest());
      addEventCounts(scan, out.events);
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
