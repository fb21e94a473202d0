// SPDX-License-Identifier: Apache-2.0
// What an analysis found, as tables that any output can show: a terminal, JSON, a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tracesmith/analysis/timing/analysis_options.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What the values of a column are.
enum class Quantity : uint8_t {
  kText,
  kCount,
  kNs,      ///< a length of time
  kTimeNs,  ///< a time, counted from the trace's begin
  kShare,   ///< of one
  kNumber,
  kProbability,
  kBytes,
  kBytesPerSecond,
};

/// Nothing where a value is not defined (0 of 0) or not known.
using ReportValue = std::variant<std::monostate, std::string, int64_t, double>;

/// As tables of reports have numbers of things.
inline ReportValue count(uint64_t n) { return static_cast<int64_t>(n); }

struct ReportColumn {
  std::string key;     ///< in JSON: "idle_ns"
  std::string header;  ///< for people: "idle"
  Quantity quantity = Quantity::kText;
  int spare = 0;  ///< above 0: may be left out where there is no room, the largest first
};

struct ReportTable {
  std::string key;    ///< in JSON
  std::string title;  ///< for people, with what the numbers mean where that is not plain
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportValue>> rows;
  std::string note;  ///< what is missing, and why; "" for nothing
};

/// Parts of an analysis, in the order of the report.
enum class AnalysisPart : uint8_t {
  kUtilization,
  kOverlap,
  kIdle,
  kStreams,
  kKernels,
  kHotspots,
  kMemory,
  kCopies,
  kCommunication,
  kLaunch,
  kQueue,
  kOccupancy,
  kSteps,
  kCriticalPath,
};
constexpr size_t kAnalysisParts = 14;
/// As on the command line: "gpu-util".
std::string_view toString(AnalysisPart part);

struct ReportOptions {
  AnalysisOptions analysis;
  std::vector<AnalysisPart> parts;        ///< none: all
  size_t limit = 15;                      ///< rows of tables by name, stream or step; 0: all
  size_t longest = 15;                    ///< rows of tables of the longest pieces; 0: all
  bool whole_paths = false;               ///< ranges around a launch, however many; else the last
  bool all_frames = false;                ///< of stacks, runtime_frames.hpp too
  std::optional<int64_t> from_ns, to_ns;  ///< of the critical path; none: the whole trace
};

/// Nothing where it was cancelled (base/cancellation.hpp).
std::vector<ReportTable> analyze(const Trace& trace, const ReportOptions& options = {});

}  // namespace tracesmith
