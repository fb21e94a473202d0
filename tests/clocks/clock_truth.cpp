// SPDX-License-Identifier: Apache-2.0
// Compares the estimate of a clock's offset with the truth, at 10,000 times, in both directions.
// Usage: clock_truth CLOCK SHIFT_NS START_NS LENGTH_NS < BOUNDS   a line for each bound: AT LOW
// HIGH, ns Prints one line of JSON; times in ns.
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include "tests/clocks/virtual_clock.hpp"
#include "tracesmith/clocks/clock_estimate.hpp"

using tracesmith::clocks::Bounded;
using tracesmith::clocks::ClockEstimate;
using tracesmith::clocks::OffsetBound;
using tracesmith::clocks::TimeBound;

int main(int argc, char** argv) {
  const auto number = [&](int i) { return i < argc ? atoll(argv[i]) : 0; };
  const auto clock = VirtualClock::of(argc > 1 ? argv[1] : "", number(3), number(4));
  std::vector<OffsetBound> bounds;
  for (OffsetBound b; std::cin >> b.at >> b.low >> b.high;) bounds.push_back(b);
  if (!clock || argc != 5 || bounds.size() < 2) {
    fprintf(stderr,
            "usage: clock_truth CLOCK SHIFT_NS START_NS LENGTH_NS < BOUNDS (two or more)\n");
    return 2;
  }
  const auto truth = [&](int64_t time) { return number(2) + clock->aheadAt(time); };
  const auto estimate = ClockEstimate::of(bounds);
  const auto back = ClockEstimate::seenFromOther(bounds);
  constexpr size_t kPoints = 10'000;
  constexpr int64_t kWhole = 1;  // the truth is rounded to ns
  std::mt19937_64 random(3);
  std::uniform_int_distribution<int64_t> any(bounds.front().at, bounds.back().at);
  std::vector<int64_t> errors, widths;
  size_t violations = 0, violations_back = 0;
  double squares = 0, sum = 0;
  for (size_t i = 0; i < kPoints; ++i) {
    const int64_t time = any(random);
    const Bounded offset = estimate->offsetAt(time);
    const int64_t wrong = offset.value - truth(time);
    violations += std::abs(wrong) > offset.error + kWhole;
    errors.push_back(std::abs(wrong));
    widths.push_back(offset.error);
    squares += static_cast<double>(wrong) * static_cast<double>(wrong);
    sum += static_cast<double>(wrong);
    const int64_t there = time + truth(time);
    const TimeBound here = back->toOther({there, there, there});
    violations_back += time < here.low - kWhole || time > here.high + kWhole;
  }
  std::sort(errors.begin(), errors.end());
  std::sort(widths.begin(), widths.end());
  printf(
      "{\"points\": %zu, \"violations\": %zu, \"violations_back\": %zu, \"median_bound\": %lld, "
      "\"worst_bound\": %lld, \"mean_error\": %.0f, \"median_error\": %lld, \"p95_error\": %lld, "
      "\"worst_error\": %lld, \"rms_error\": %.0f, \"steps\": %zu}\n",
      kPoints, violations, violations_back, static_cast<long long>(widths[kPoints / 2]),
      static_cast<long long>(widths.back()), sum / kPoints,
      static_cast<long long>(errors[kPoints / 2]),
      static_cast<long long>(errors[kPoints * 95 / 100]), static_cast<long long>(errors.back()),
      std::sqrt(squares / kPoints), estimate->steps().size());
}
