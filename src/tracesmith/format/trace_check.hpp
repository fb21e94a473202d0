// SPDX-License-Identifier: Apache-2.0
// Looks at every byte of a trace: what a reader believes only when it gets there, all at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

struct TraceCheck {
  uint64_t blocks = 0;  ///< of tables
  uint64_t rows = 0;    ///< in them, as far as they were read
  uint64_t columns = 0;
  uint64_t bytes = 0;     ///< of the file
  bool complete = false;  ///< it has an end marker
  /// What is wrong, by place: checksums, columns that do not decode, rows outside the time range
  /// that their block states, an index that does not say what lies in the file.
  std::vector<DataLoss> problems;
  std::vector<DataLoss> skipped;  ///< of a newer version, and not looked into

  bool intact() const { return complete && problems.empty(); }
};

/// Fails when the file is no readable trace at all. Takes memory for one block, and for the
/// strings. `progress` is called now and then with the bytes that have been looked at.
Result<TraceCheck> checkTrace(const std::string& path,
                              const std::function<void(uint64_t)>& progress = {});

}  // namespace tracesmith
