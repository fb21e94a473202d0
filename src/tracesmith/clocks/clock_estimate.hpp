// SPDX-License-Identifier: Apache-2.0
// The offset of another host's clock at any time, with a bound, from bounds at some moments.
//
// Between two moments the offset is taken to be near the chord between them, or still on the line
// that leads to the first, or already on the line that comes from the second; from these it may
// differ with a slope of `rate`, which is learned from how the slopes of neighbouring chords
// differ. So where the clock was set once (a step), the bound covers both sides. Before the first
// moment and after the last the rate may differ from the measured one as much as time daemons
// change it. docs/cluster.md states these assumptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith::clocks {

/// A number of ns that is at most `error` away from the truth.
struct Bounded {
  int64_t value = 0;
  int64_t error = 0;
};

/// A time, ns, and the earliest and the latest that it can be.
struct TimeBound {
  int64_t low = 0;
  int64_t value = 0;
  int64_t high = 0;

  /// Distance of the farther end.
  int64_t error() const;
};

struct EstimateOptions {
  /// The least by which the rate of a clock is taken to change between two moments, in parts per
  /// million: temperature and daemons do that much unnoticed.
  double least_rate_ppm = 1;
  /// How many times the difference of neighbouring slopes.
  double safety = 3;
};

class ClockEstimate {
 public:
  /// `bounds` in any order. kInvalidArgument without any.
  static Result<ClockEstimate> of(std::vector<OffsetBound> bounds,
                                  const EstimateOptions& options = {});
  /// The same seen from the other clock: the offset is this clock minus the other one, at a time of
  /// the other one.
  static Result<ClockEstimate> seenFromOther(std::vector<OffsetBound> bounds,
                                             const EstimateOptions& options = {});

  /// Of the other clock minus this one, at a time of this one.
  Bounded offsetAt(int64_t time) const;
  /// A time of this clock in the other clock. A later time never gives an earlier value.
  TimeBound toOther(const TimeBound& time) const;
  /// Where the other clock was set, or this one: between these moments of this clock.
  struct Step {
    int64_t after = 0;
    int64_t before = 0;
    int64_t by = 0;  ///< ns, about
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  /// An offset, relative to base_.
  struct Range {
    double low = 0, value = 0, high = 0;
  };
  struct Knot {
    int64_t at = 0;
    Range offset;
  };
  struct Slope {  // ns per ns
    double value = 0;
    double error = 0;
  };
  struct Chord {
    Slope slope;
    double rate = 0;  // by which the slope may differ within
    bool is_step = false;
    Slope slope_before, slope_after;         // of the nearest chords that are no steps
    double fast_before = 0, fast_after = 0;  // of the chords beside it, if they can be corrections
  };
  /// The slopes that are possible beyond the first knot or the last.
  using Tail = Range;

  static ClockEstimate ofSorted(const std::vector<OffsetBound>& bounds,
                                const EstimateOptions& options);
  void addChords();
  void learnRates(const EstimateOptions& options);
  Tail tailFrom(size_t knot) const;
  Slope slopeBetween(size_t knot, size_t other) const;

  Range at(int64_t time) const;
  Range beyond(size_t knot, const Tail& tail, int64_t time) const;
  Range within(size_t chord, int64_t time) const;
  /// The first knot after a time.
  size_t knotAfter(int64_t time) const;
  int64_t moved(int64_t time, double offset) const;

  int64_t base_ = 0;           // added to all offsets: they must fit a double
  std::vector<Knot> knots_;    // by time
  std::vector<Chord> chords_;  // chord i: from knot i to knot i + 1
  Tail before_first_, after_last_;
  Range extremes_;  // the lowest and the highest between the first knot and the last
  std::vector<Step> steps_;
};

}  // namespace tracesmith::clocks
