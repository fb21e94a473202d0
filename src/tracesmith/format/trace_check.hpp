// SPDX-License-Identifier: Apache-2.0
// Verifies every byte of a trace. A reader verifies only what it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

struct TraceCheck {
  uint64_t blocks = 0;  ///< table blocks
  uint64_t rows = 0;    ///< rows in those blocks that were read
  uint64_t columns = 0;
  uint64_t bytes = 0;     ///< size of the file
  bool complete = false;  ///< has an end marker
  /// Problems by offset: checksums, columns that cannot be decoded, rows outside the time range
  /// stated by their block, an index that does not match the file.
  std::vector<DataLoss> problems;
  std::vector<DataLoss> skipped;  ///< parts of a newer version, which were not checked

  bool intact() const { return complete && problems.empty(); }
};

/// Fails if the file is not a readable trace at all. Needs memory for one block and for the
/// strings. `progress` is called from time to time with the number of bytes checked.
Result<TraceCheck> checkTrace(const std::string& path,
                              const std::function<void(uint64_t)>& progress = {});

}  // namespace tracesmith
