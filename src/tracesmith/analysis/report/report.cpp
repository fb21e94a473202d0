// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/report/report.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/streaming/named_steps.hpp"
#include "tracesmith/analysis/streaming/work_trace.hpp"
#include "tracesmith/base/cancellation.hpp"

namespace tracesmith {
namespace {

struct Part {
  std::string_view name;
  void (*make)(report_parts::Maker& maker);
};

using namespace report_parts;

constexpr std::array<Part, kAnalysisParts> kParts = {{
    {"gpu-util", addUtilization},
    {"overlap", addOverlap},
    {"idle", addIdleTimes},
    {"streams", addStreams},
    {"kernels", addKernels},
    {"hotspots", addHotspots},
    {"memory", addMemory},
    {"memcpy", addCopies},
    {"comm", addCommunication},
    {"launch", addLaunches},
    {"queue", addQueueDepths},
    {"occupancy", addOccupancy},
    {"steps", addStepTimes},
    {"critical-path", addCriticalPath},
}};

}  // namespace

namespace report_parts {

void note(ReportTable& table, const std::string& text) {
  if (!table.note.empty()) table.note += "; ";
  table.note += text;
}

void noteRest(ReportTable& table, size_t all) {
  if (all > table.rows.size()) {
    note(table, "and " + std::to_string(all - table.rows.size()) + " more (--limit 0 shows all)");
  }
}

void keepLargest(const Maker& maker, ReportTable& table, std::string_view key) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const ReportColumn& c) { return c.key == key; });
  const auto column = static_cast<size_t>(found - table.columns.begin());
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return std::get<int64_t>(a[column]) > std::get<int64_t>(b[column]);
  });
  const size_t all = table.rows.size();
  table.rows.resize(maker.limit(all));
  noteRest(table, all);
}

}  // namespace report_parts

std::string_view toString(AnalysisPart part) { return kParts[static_cast<size_t>(part)].name; }

namespace {

/// Parts that need no events in memory but allocations. Steps do, if the trace does not name them.
constexpr std::array kPartsByBlock = {
    AnalysisPart::kUtilization, AnalysisPart::kOverlap, AnalysisPart::kIdle,
    AnalysisPart::kStreams,     AnalysisPart::kKernels, AnalysisPart::kMemory,
    AnalysisPart::kCopies,      AnalysisPart::kLaunch,  AnalysisPart::kQueue,
    AnalysisPart::kOccupancy,   AnalysisPart::kSteps};

/// The parts of a report, in its order.
class PartSet {
 public:
  explicit PartSet(const ReportOptions& options) {
    wanted_.fill(options.parts.empty());
    for (const AnalysisPart part : options.parts) set(part, true);
  }
  /// Those of `all` that need no events in memory, or the others.
  static PartSet byBlock(const PartSet& all, bool by_block) {
    PartSet out = all;
    for (size_t i = 0; i < kAnalysisParts; ++i) {
      const bool can = std::find(kPartsByBlock.begin(), kPartsByBlock.end(),
                                 static_cast<AnalysisPart>(i)) != kPartsByBlock.end();
      if (can != by_block) out.wanted_[i] = false;
    }
    return out;
  }
  bool has(AnalysisPart part) const { return wanted_[static_cast<size_t>(part)]; }
  void set(AnalysisPart part, bool wanted) { wanted_[static_cast<size_t>(part)] = wanted; }
  bool empty() const { return std::find(wanted_.begin(), wanted_.end(), true) == wanted_.end(); }

 private:
  std::array<bool, kAnalysisParts> wanted_{};
};

/// The tables of each part.
using TablesOfParts = std::array<std::vector<ReportTable>, kAnalysisParts>;

void makeTables(report_parts::Maker& maker, const PartSet& parts, TablesOfParts& out) {
  for (size_t i = 0; i < kParts.size(); ++i) {
    if (isCancelled() || !parts.has(static_cast<AnalysisPart>(i))) continue;
    kParts[i].make(maker);
    out[i] = std::exchange(maker.tables, {});
  }
}

/// In the order of the report; empty if cancelled.
std::vector<ReportTable> joined(TablesOfParts tables) {
  std::vector<ReportTable> out;
  if (isCancelled()) return out;
  for (std::vector<ReportTable>& of_part : tables) {
    for (ReportTable& table : of_part) {
      if (table.rows.empty() && table.note.empty()) table.note = "none in the trace";
      out.push_back(std::move(table));
    }
  }
  return out;
}

/// False: the trace must be read as a whole.
Result<bool> addPartsByBlock(TraceScan& scan, const ReportOptions& options, const PartSet& parts,
                             std::optional<Steps> steps, TablesOfParts& out) {
  CollectedParts collected{
      .names = parts.has(AnalysisPart::kKernels) || parts.has(AnalysisPart::kCopies),
      .launches = parts.has(AnalysisPart::kLaunch),
      .queues = parts.has(AnalysisPart::kQueue),
      .shapes = parts.has(AnalysisPart::kOccupancy)};
  if (parts.has(AnalysisPart::kSteps)) collected.steps = std::move(steps);
  TS_TRY(std::unique_ptr<DeviceResults> results,
         resultsByBlock(scan, options.analysis, std::move(collected)));
  if (results == nullptr) return false;
  Trace with_allocations;
  if (parts.has(AnalysisPart::kMemory)) {
    TS_TRY(with_allocations, scan.reader().read({.tables = {TableId::kMemoryEvent}}));
  }
  report_parts::Maker maker(
      parts.has(AnalysisPart::kMemory) ? with_allocations : scan.tables(), options,
      std::move(results));
  TS_TRY(const std::optional<int64_t> begin_ns, scan.reader().beginNs());
  maker.range.begin_ns = begin_ns.value_or(0);
  if (options.short_names) {
    maker.labels = KernelLabels(scan.tables().strings, scan.reader().kernelNames());
  }
  makeTables(maker, parts, out);
  return true;
}

/// False: the trace must be read as a whole.
Result<bool> addPartsInMemory(TraceScan& scan, const ReportOptions& options, const PartSet& parts,
                              TablesOfParts& out) {
  TS_TRY(const std::unique_ptr<WorkTrace> work, readWorkTrace(scan));
  if (work == nullptr) return false;
  report_parts::Maker maker(*work, options);
  if (options.short_names) {
    maker.labels = KernelLabels(scan.tables().strings, scan.reader().kernelNames());
  }
  makeTables(maker, parts, out);
  return true;
}

}  // namespace

std::vector<ReportTable> analyze(const Trace& trace, const ReportOptions& options) {
  report_parts::Maker maker(trace, options);
  if (options.short_names) maker.labels = KernelLabels(trace);
  TablesOfParts tables;
  makeTables(maker, PartSet(options), tables);
  return joined(std::move(tables));
}

bool canAnalyzeByBlock(const ReportOptions& options) { return !options.analysis.as_hta; }

Result<std::optional<std::vector<ReportTable>>> analyzeByBlock(TraceScan& scan,
                                                               const ReportOptions& options) {
  const PartSet all(options);
  PartSet by_block = PartSet::byBlock(all, true);
  PartSet in_memory = PartSet::byBlock(all, false);
  std::optional<Steps> steps;
  if (all.has(AnalysisPart::kSteps)) {
    TS_TRY(steps, readNamedSteps(scan));
    const bool are_named = steps->from != Steps::From::kNowhere;
    by_block.set(AnalysisPart::kSteps, are_named);
    in_memory.set(AnalysisPart::kSteps, !are_named);
  }
  TablesOfParts tables;
  if (!by_block.empty()) {
    TS_TRY(const bool is_done,
           addPartsByBlock(scan, options, by_block, std::move(steps), tables));
    if (!is_done) return std::nullopt;
  }
  if (!in_memory.empty()) {
    TS_TRY(const bool is_done, addPartsInMemory(scan, options, in_memory, tables));
    if (!is_done) return std::nullopt;
  }
  TS_CHECK_OK(scan.checkRest());
  return joined(std::move(tables));
}

}  // namespace tracesmith
