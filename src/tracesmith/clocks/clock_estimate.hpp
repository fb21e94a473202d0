// SPDX-License-Identifier: Apache-2.0
// The offset of another host's clock at any time, with a bound, from bounds at some moments.
//
// Between two moments the offset is taken to follow the chord between them; it may leave the chord
// with a slope of `rate`, which is learned from how the slopes of neighbouring chords differ. Where
// the clock was set (a step), the bound covers both sides. docs/cluster.md states what this takes
// for granted.
#pragma once

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

  /// Of the other clock minus this one, at a time of this one.
  Bounded offsetAt(int64_t time) const;
  /// A time of this clock in the other clock.
  Bounded toOther(int64_t time) const;
  /// Where the other clock was set, or this one: between these moments of this clock.
  struct Step {
    int64_t after = 0;
    int64_t before = 0;
    int64_t by = 0;  ///< ns, about
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Chord {
    double slope = 0;  // ns per ns
    double rate = 0;   // by which the slope may differ within
    bool is_step = false;
  };

  static std::vector<OffsetBound> narrow(std::vector<OffsetBound> bounds);
  void learn(const EstimateOptions& options);
  double slopeBeside(size_t knot, int side) const;
  Bounded beyond(size_t knot, int64_t time) const;
  Bounded within(size_t chord, int64_t time) const;

  int64_t base_ = 0;                // added to all offsets below: they must fit a double
  std::vector<OffsetBound> knots_;  // by time
  std::vector<Chord> chords_;       // chord i: from knot i to knot i + 1
  std::vector<Step> steps_;
  double least_rate_ = 0;
};

}  // namespace tracesmith::clocks
