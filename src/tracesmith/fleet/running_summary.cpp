// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/running_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/trace_scan.hpp"

namespace tracesmith {
namespace {

/// Work that starts this long before the end of a part waits for the next one, which may have work
/// that started before it: a row is written when the work is complete. Where work is longer than
/// this and others run beside it, what it overlaps with is not seen.
constexpr int64_t kHeldNs = 250'000'000;
/// Work whose launch came longer before it counts as without one.
constexpr int64_t kLaunchesKeptNs = 10'000'000'000;

}  // namespace

RunningSummary::RunningSummary() : builder_(tables_, 1) {}

Status RunningSummary::add(const std::string& part) {
  Status added = addPart(part);
  if (!added) ++lost_parts_;
  return added;
}

Status RunningSummary::addPart(const std::string& part) {
  TS_TRY(TraceScan scan, TraceScan::open(part, 1));
  takeTables(scan.tables());
  builder_.beginPart();
  TS_TRY(LaunchTimes launches, readLaunchTimes(scan));
  launches_.push_back({std::make_unique<LaunchTimes>(std::move(launches)), monotonicNs()});
  while (launches_.size() > 2 && launches_[1].added_ns < monotonicNs() - kLaunchesKeptNs) {
    launches_.pop_front();
  }
  launches_.front().times->continueFrom(nullptr);
  if (launches_.size() > 1) {
    launches_.back().times->continueFrom(launches_[launches_.size() - 2].times.get());
  }

  int64_t end_ns = INT64_MIN;
  std::vector<StreamedOp> held;
  const auto sweep = [&](const StreamedOp& op) { builder_.addOp(op); };
  const auto take = [&](const StreamedOp& op) {
    end_ns = std::max(end_ns, op.begin_ns);
    held.push_back(op);
    if (held.size() < 65536) return;
    merger_.add(std::exchange(held, {}));
    merger_.takeBefore(end_ns - kHeldNs, sweep);
  };
  TS_TRY(const StreamEnd end,
         streamDeviceOps(
             scan, *launches_.back().times,
             [&](const WorkBlock& block) { builder_.addBlock(block.ops, block.thread); }, take));
  // Correlation ids repeat: which launch is meant, only the whole trace could tell.
  if (end != StreamEnd::kComplete) ++lost_parts_;
  merger_.add(std::move(held));
  if (end_ns != INT64_MIN) merger_.takeBefore(end_ns - kHeldNs, sweep);
  TS_CHECK_OK(builder_.readComm(scan));
  TS_CHECK_OK(scan.checkRest());
  addEventCounts(scan, events_);
  TraceReader& reader = scan.reader();
  other_bytes_ = 0;
  for (const BlockInfo& block : reader.blocks()) {
    (block.table >= TableId::kHostCall ? event_bytes_ : other_bytes_) += block.end - block.offset;
  }
  for (const int64_t error_ns : tables_.clock_snapshot.error_ns) {
    clock_error_ns_ = std::max(clock_error_ns_, error_ns);
  }
  versions_ = {{fmt::format("{}.{}", reader.versionMajor(), reader.versionMinor()), 1}};
  for (const DataLoss& loss : scan.losses()) {
    if (loss.offset + loss.bytes <= reader.endOfBlocks()) damaged_bytes_ += loss.bytes;
  }
  return {};
}

/// A part lacks names that its events do not use, but the sums may need them.
void RunningSummary::takeTables(const Trace& of_part) {
  const StringTable before = std::move(tables_.strings);
  tables_ = of_part;
  StringTable strings;
  bool any_lacks = false;
  for (size_t i = 0; i < tables_.strings.size(); ++i) {
    const auto id = idAt<StringId>(i);
    const std::string_view text = tables_.strings.at(id);
    const bool lacks = text.empty() && !before.at(id).empty() && builder_.usesName(id);
    any_lacks = any_lacks || lacks;
    strings.append(lacks ? before.at(id) : text);
  }
  if (any_lacks) tables_.strings = std::move(strings);
}

FleetSummary RunningSummary::finish(const ValueSums& steps_ns) {
  merger_.takeAll([&](const StreamedOp& op) { builder_.addOp(op); });
  builder_.setSteps(steps_ns);
  FleetSummary out = builder_.finish();
  out.events = events_;
  out.versions = versions_;
  out.file_bytes = event_bytes_ + other_bytes_;
  out.damaged_bytes = damaged_bytes_;
  out.damaged_traces = damaged_bytes_ > 0 || lost_parts_ > 0 ? 1 : 0;
  out.clock_error_ns.value =
      std::max(out.clock_error_ns.value, static_cast<uint64_t>(clock_error_ns_));
  return out;
}

}  // namespace tracesmith
