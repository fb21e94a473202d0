// SPDX-License-Identifier: Apache-2.0
// Counters and allocated memory as lanes of the timeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::studio {

/// A value holds until the next one.
struct CounterSeries {
  std::string label;
  std::string unit;  ///< "bytes" for memory; may be ""
  std::vector<int64_t> times_ns;
  std::vector<double> values;
};

/// Counters of the trace, then allocated memory by pool.
std::vector<CounterSeries> counterSeriesOf(const Trace& trace);

/// The least and the greatest value that a series has in a part of the time.
struct CounterPoint {
  int64_t time_ns = 0;
  double least = 0;
  double greatest = 0;
};
/// At most `columns` points; of each column in which the value changes. The first one has the value
/// at `begin_ns`, if there is one.
std::vector<CounterPoint> pointsOf(const CounterSeries& series, int64_t begin_ns, int64_t end_ns,
                                   size_t columns);

}  // namespace tracesmith::studio
