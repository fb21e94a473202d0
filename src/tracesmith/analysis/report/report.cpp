// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/report/report.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "tracesmith/analysis/report/report_parts.hpp"
#include "tracesmith/analysis/streaming/named_steps.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/ordered_parallel.hpp"

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

/// Parts that need WorkTrace. Steps do, if the trace does not name them.
constexpr std::array kPartsOfWork = {AnalysisPart::kHotspots, AnalysisPart::kCommunication,
                                     AnalysisPart::kCriticalPath};

/// The parts of a report, in its order.
class PartSet {
 public:
  explicit PartSet(const ReportOptions& options) {
    wanted_.fill(options.parts.empty());
    for (const AnalysisPart part : options.parts) set(part, true);
  }
  static PartSet of(AnalysisPart part) { return PartSet(ReportOptions{.parts = {part}}); }
  bool hasAny(std::span<const AnalysisPart> parts) const {
    return std::any_of(parts.begin(), parts.end(), [&](AnalysisPart part) { return has(part); });
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

CollectedParts collectedFor(const PartSet& parts) {
  return {.names = parts.has(AnalysisPart::kKernels) || parts.has(AnalysisPart::kCopies),
          .launches = parts.has(AnalysisPart::kLaunch),
          .queues = parts.has(AnalysisPart::kQueue),
          .shapes = parts.has(AnalysisPart::kOccupancy)};
}

/// Whether the trace says what the host did while it was late.
bool tellsOfHost(TraceScan& scan) {
  return scan.reader().rows(TableId::kThreadState) + scan.reader().rows(TableId::kCpuSample) > 0;
}

std::shared_ptr<const KernelLabels> labelsFor(TraceScan& scan, const ReportOptions& options) {
  if (!options.short_names) return std::make_shared<KernelLabels>();
  return std::make_shared<KernelLabels>(scan.tables().strings, scan.reader().kernelNames());
}

/// False: the trace must be read as a whole.
Result<bool> addPartsByBlock(TraceScan& scan, const ReportOptions& options, const PartSet& parts,
                             std::optional<Steps> steps, TablesOfParts& out) {
  CollectedParts collected = collectedFor(parts);
  if (parts.has(AnalysisPart::kSteps)) collected.steps = std::move(steps);
  TS_TRY(std::unique_ptr<DeviceResults> results,
         resultsByBlock(scan, options.analysis, std::move(collected)));
  if (results == nullptr) return false;
  Trace with_allocations;
  if (parts.has(AnalysisPart::kMemory)) {
    TS_TRY(with_allocations, scan.reader().read({.tables = {TableId::kMemoryEvent}}));
  }
  Maker maker(parts.has(AnalysisPart::kMemory) ? with_allocations : scan.tables(), options,
              std::move(results));
  TS_TRY(const std::optional<int64_t> begin_ns, scan.reader().beginNs());
  maker.range.begin_ns = begin_ns.value_or(0);
  maker.labels = labelsFor(scan, options);
  makeTables(maker, parts, out);
  return true;
}

/// False: the trace must be read as a whole.
Result<bool> addPartsInMemory(TraceScan& scan, const ReportOptions& options, const PartSet& parts,
                              const std::function<void(const WorkTrace&)>& on_work,
                              TablesOfParts& out) {
  TS_TRY(const std::unique_ptr<WorkResults> work,
         readWorkResults(scan, options.analysis, collectedFor(parts),
                         parts.has(AnalysisPart::kSteps)));
  if (work == nullptr) return false;
  if (on_work) on_work(*work->work);
  const std::shared_ptr<const KernelLabels> labels = labelsFor(scan, options);
  // At the same time, the longest first. More than two would take much memory at once.
  constexpr unsigned kMostThreads = 2;
  std::vector<PartSet> tasks;
  PartSet others = parts;
  for (const AnalysisPart part :
       {AnalysisPart::kCriticalPath, AnalysisPart::kHotspots, AnalysisPart::kLaunch,
        AnalysisPart::kQueue, AnalysisPart::kCommunication}) {
    if (!parts.has(part)) continue;
    tasks.push_back(PartSet::of(part));
    others.set(part, false);
  }
  if (!others.empty()) tasks.insert(tasks.begin(), others);  // share a pass over all work
  const bool all_made = makeInOrder(
      tasks.size(), std::min(kMostThreads, scan.threads()),
      [&](unsigned, size_t i) {
        Maker maker(*work, options, labels);
        TablesOfParts tables;
        makeTables(maker, tasks[i], tables);
        return tables;
      },
      [&](TablesOfParts&& tables) {
        for (size_t i = 0; i < tables.size(); ++i) {
          std::move(tables[i].begin(), tables[i].end(), std::back_inserter(out[i]));
        }
        return true;
      });
  TS_CHECK_OK(checkCancelled());
  return all_made;
}

}  // namespace

std::vector<ReportTable> analyze(const Trace& trace, const ReportOptions& options) {
  report_parts::Maker maker(trace, options);
  if (options.short_names) maker.labels = std::make_shared<KernelLabels>(trace);
  TablesOfParts tables;
  makeTables(maker, PartSet(options), tables);
  return joined(std::move(tables));
}

Result<std::optional<std::vector<ReportTable>>> analyzeByBlock(
    TraceScan& scan, const ReportOptions& options,
    const std::function<void(const WorkTrace&)>& on_work) {
  if (options.analysis.as_hta) return std::nullopt;
  const PartSet parts(options);
  bool need_work = on_work || parts.hasAny(kPartsOfWork) ||
                   (parts.has(AnalysisPart::kIdle) && tellsOfHost(scan));
  std::optional<Steps> steps;
  if (parts.has(AnalysisPart::kSteps) && !need_work) {
    TS_TRY(steps, readNamedSteps(scan));
    need_work = steps->from == Steps::From::kNowhere;
  }
  TablesOfParts tables;
  TS_TRY(const bool is_done, need_work
                                 ? addPartsInMemory(scan, options, parts, on_work, tables)
                                 : addPartsByBlock(scan, options, parts, std::move(steps), tables));
  if (!is_done) return std::nullopt;
  TS_CHECK_OK(scan.checkRest());
  return joined(std::move(tables));
}

}  // namespace tracesmith
