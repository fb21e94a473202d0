// SPDX-License-Identifier: Apache-2.0
// Which clock the times of a Perfetto file are in, and what other clocks of the host showed at one
// moment of it. A viewer refuses to guess how two real clocks relate: it takes a file for one of
// CLOCK_BOOTTIME unless a snapshot says otherwise, and counts an error where no snapshot leads from
// there to the clock that the times are in. Only the file's own clock (id 11, since v55; older
// viewers take any id) may stand for any other.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/export/perfetto/perfetto_fields.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::perfetto {

struct TraceClock {
  struct Reading {
    uint64_t clock = 0;
    int64_t ns = 0;
  };
  uint64_t id = clock::kTraceFile;
  int64_t moment_ns = 0;          ///< of the trace
  std::vector<Reading> readings;  ///< of other clocks, at that moment
};

/// `shifted`: the file's times are not the trace's, but counted from another zero.
TraceClock clockOf(const Trace& trace, bool shifted);

}  // namespace tracesmith::perfetto
