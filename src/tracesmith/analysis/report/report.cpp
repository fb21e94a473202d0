// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/report/report.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "tracesmith/analysis/report/report_parts.hpp"
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

/// Parts that need no events in memory but allocations.
constexpr std::array kPartsByBlock = {
    AnalysisPart::kUtilization, AnalysisPart::kOverlap, AnalysisPart::kIdle,
    AnalysisPart::kStreams,     AnalysisPart::kKernels, AnalysisPart::kMemory,
    AnalysisPart::kCopies,      AnalysisPart::kLaunch,  AnalysisPart::kQueue,
    AnalysisPart::kOccupancy,   AnalysisPart::kSteps};

std::vector<ReportTable> makeTables(report_parts::Maker& maker) {
  const ReportOptions& options = maker.options;
  for (size_t i = 0; i < kParts.size(); ++i) {
    const auto part = static_cast<AnalysisPart>(i);
    if (isCancelled()) return {};
    if (options.parts.empty() ||
        std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end()) {
      kParts[i].make(maker);
    }
  }
  if (isCancelled()) return {};
  for (ReportTable& table : maker.tables) {
    if (table.rows.empty() && table.note.empty()) table.note = "none in the trace";
  }
  return std::move(maker.tables);
}

}  // namespace

std::vector<ReportTable> analyze(const Trace& trace, const ReportOptions& options) {
  report_parts::Maker maker(trace, options);
  if (options.short_names) maker.labels = KernelLabels(trace);
  return makeTables(maker);
}

bool canAnalyzeByBlock(const ReportOptions& options) {
  return !options.parts.empty() && !options.analysis.as_hta &&
         std::all_of(options.parts.begin(), options.parts.end(), [](AnalysisPart part) {
           return std::find(kPartsByBlock.begin(), kPartsByBlock.end(), part) !=
                  kPartsByBlock.end();
         });
}

Result<std::optional<std::vector<ReportTable>>> analyzeByBlock(TraceScan& scan,
                                                               const ReportOptions& options) {
  const auto wants = [&](AnalysisPart part) {
    return std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
  };
  const CollectedParts parts{.names = wants(AnalysisPart::kKernels) || wants(AnalysisPart::kCopies),
                             .launches = wants(AnalysisPart::kLaunch),
                             .queues = wants(AnalysisPart::kQueue),
                             .shapes = wants(AnalysisPart::kOccupancy),
                             .steps = wants(AnalysisPart::kSteps)};
  TS_TRY(std::unique_ptr<DeviceResults> results, resultsByBlock(scan, options.analysis, parts));
  if (results == nullptr) return std::nullopt;
  TS_CHECK_OK(scan.checkRest());
  Trace with_allocations;
  if (wants(AnalysisPart::kMemory)) {
    TS_TRY(with_allocations, scan.reader().read({.tables = {TableId::kMemoryEvent}}));
  }
  report_parts::Maker maker(wants(AnalysisPart::kMemory) ? with_allocations : scan.tables(),
                            options, std::move(results));
  if (wants(AnalysisPart::kMemory) || wants(AnalysisPart::kSteps)) {
    TS_TRY(const std::optional<int64_t> begin_ns, scan.reader().beginNs());
    maker.begin_ns = begin_ns.value_or(0);
  }
  if (options.short_names) {
    maker.labels = KernelLabels(scan.tables().strings, scan.reader().kernelNames());
  }
  return makeTables(maker);
}

}  // namespace tracesmith
