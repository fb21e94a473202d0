// SPDX-License-Identifier: Apache-2.0
// Summarizes many traces on one machine. Summaries are stored, so a later run reads only what is
// new. No file stops the others: what cannot be read is named.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"
#include "tracesmith/fleet/summary_file.hpp"

namespace tracesmith {

/// The traces (.sbt) and summaries (.summary) in folders and those within, by name, and the other
/// `paths` as they are. A stored summary counts only if its trace is not there. A folder that
/// cannot be read comes by its own name, and runFleet() says why.
std::vector<std::string> findFleetFiles(const std::vector<std::string>& paths);

struct FleetOptions {
  /// Where summaries are stored, a folder that is made if needed; "": beside each trace.
  std::string folder;
  bool stores = true;           ///< writes summaries
  bool computes_again = false;  ///< also if there is a stored summary of the same trace
  bool keeps_each = false;      ///< FleetFile::summary
  unsigned threads = 0;         ///< 0: as many as there are processors
  /// Reads a trace of another tool; empty: such files are errors.
  std::function<Result<Trace>(const std::string& path)> read_other;
  /// Called on the calling thread, after each file.
  std::function<void(size_t done)> on_progress;
};

struct FleetFile {
  enum class State : uint8_t {
    kComputed,  ///< from the trace
    kStored,    ///< read from its stored summary
    kRepeated,  ///< the same trace as an earlier one; does not count
    kFailed,    ///< does not count
  };
  std::string path;
  State state = State::kFailed;
  TraceIdentity trace;     ///< zero if it is another tool's
  std::string message;     ///< why it failed, or which trace it repeats
  std::string not_stored;  ///< why its summary could not be stored; "" if it was
  Bytes summary;           ///< encoded (summary_bytes.hpp), with FleetOptions::keeps_each
};

struct FleetRun {
  FleetSummary sum;
  std::vector<FleetFile> files;  ///< in the order given
  size_t count(FleetFile::State state) const;
};

/// Where the summary of a trace is stored.
std::string summaryPathOf(const std::string& trace, const std::string& folder,
                          const TraceIdentity& identity);

FleetRun runFleet(const std::vector<std::string>& files, const FleetOptions& options = {});

}  // namespace tracesmith
