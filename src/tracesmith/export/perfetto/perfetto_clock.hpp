// SPDX-License-Identifier: Apache-2.0
// Chooses the clock of the times in a Perfetto file, and readings of other host clocks at one
// moment. A viewer does not guess how two real clocks relate. It assumes CLOCK_BOOTTIME unless a
// snapshot says otherwise, and counts an error if no snapshot relates that to the clock of the
// times. Only the file's own clock (id 11, since v55; older viewers accept any id) may be unrelated
// to all others.
#pragma once

#include <cstdint>
#include <optional>
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
  int64_t moment_ns = 0;          ///< trace time
  std::vector<Reading> readings;  ///< other clocks at that moment

  /// CLOCK_BOOTTIME minus trace time; nullopt: unknown.
  std::optional<int64_t> toBoottimeNs() const;
};

/// `shifted`: times in the file are not trace times, but relative to another zero.
TraceClock clockOf(const Trace& trace, bool shifted);

}  // namespace tracesmith::perfetto
