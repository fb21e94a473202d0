// SPDX-License-Identifier: Apache-2.0
// Results of an analysis as tables that any output can show: a terminal, JSON, a page.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tracesmith/analysis/timing/analysis_options.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class TraceScan;
struct WorkTrace;

/// The quantity that the values of a column represent.
enum class Quantity : uint8_t {
  kText,
  kCount,
  kNs,      ///< a duration
  kTimeNs,  ///< a point in time, from the start of the trace
  kShare,   ///< a fraction of one
  kNumber,
  kProbability,
  kBytes,
  kBytesPerSecond,
};

/// Empty if a value is undefined (0 of 0) or unknown.
using ReportValue = std::variant<std::monostate, std::string, int64_t, double>;

/// Converts a count to a report value.
inline ReportValue count(uint64_t n) { return static_cast<int64_t>(n); }

struct ReportColumn {
  std::string key;     ///< in JSON: "idle_ns"
  std::string header;  ///< for people: "idle"
  Quantity quantity = Quantity::kText;
  int spare = 0;  ///< above 0: may be dropped to save width, the largest first
};

struct ReportTable {
  std::string key;    ///< in JSON
  std::string title;  ///< for people; explains the numbers where necessary
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportValue>> rows;
  std::string note;  ///< what is missing, and why; "" if nothing is
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
/// Name on the command line: "gpu-util".
std::string_view toString(AnalysisPart part);

struct ReportOptions {
  AnalysisOptions analysis;
  std::vector<AnalysisPart> parts;  ///< empty: all
  size_t limit = 15;                ///< rows of tables by name, stream or step; 0: all
  size_t longest = 15;              ///< rows of tables of the longest pieces; 0: all
  bool short_names = false;         ///< kernels have short labels, for people (KernelLabels)
  bool whole_paths = false;         ///< shows all ranges around a launch; else only the last
  /// Includes frames that runtime_frames.hpp removes from stacks.
  bool all_frames = false;
  std::optional<int64_t> from_ns, to_ns;  ///< limits of the critical path; none: the whole trace
};

/// Empty if cancelled (base/cancellation.hpp).
std::vector<ReportTable> analyze(const Trace& trace, const ReportOptions& options = {});

/// The same tables, of a file that need not fit into memory. Hot spots, communication, the critical
/// path, and steps that the trace does not name need WorkTrace, which takes about 45 bytes for each
/// event; the other parts are computed block by block. nullopt: the trace must be read as a whole
/// (AnalysisOptions::as_hta, StreamEnd::kNeedsWholeTrace, readWorkTrace()).
/// With `on_work`, WorkTrace is read in any case, and given to it before the tables are made.
Result<std::optional<std::vector<ReportTable>>> analyzeByBlock(
    TraceScan& scan, const ReportOptions& options,
    const std::function<void(const WorkTrace&)>& on_work = {});

}  // namespace tracesmith
