// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/clocks/clock_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tracesmith::clocks {
namespace {

constexpr size_t kAround = 3;   // moments to each side that a moment is compared with
constexpr double kTooWide = 2;  // times the median of those around it
// What is faster from one moment to the next is named a step: the clock was set, or corrected in
// haste.
constexpr double kStepSlope = 1e-3;
constexpr double kFastestSlope = kMostDriftPpm * 1e-6;

int64_t rounded(double ns) { return static_cast<int64_t>(std::llround(ns)); }

/// A value of an interval, with the distance of the farther end. What is extrapolated from times
/// that make no sense ends at a limit.
Bounded bounded(double low, double value, double high) {
  constexpr double kMost = 0x1p61;
  const int64_t whole = rounded(std::clamp(value, -kMost, kMost));
  const double error =
      std::max(high - static_cast<double>(whole), static_cast<double>(whole) - low);
  return {whole, static_cast<int64_t>(std::ceil(std::clamp(error, 0.0, kMost)))};
}

}  // namespace

std::vector<OffsetBound> ClockEstimate::narrow(std::vector<OffsetBound> bounds) {
  std::vector<OffsetBound> kept;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const size_t first = i >= kAround ? i - kAround : 0;
    const size_t last = std::min(i + kAround + 1, bounds.size());
    std::vector<int64_t> around;
    for (size_t k = first; k < last; ++k) around.push_back(bounds[k].halfWidth());
    std::nth_element(around.begin(),
                     around.begin() + static_cast<std::ptrdiff_t>(around.size() / 2), around.end());
    const double median = static_cast<double>(around[around.size() / 2]);
    const bool is_end = i == 0 || i + 1 == bounds.size();
    if (is_end || static_cast<double>(bounds[i].halfWidth()) <= kTooWide * median)
      kept.push_back(bounds[i]);
  }
  return kept;
}

Result<ClockEstimate> ClockEstimate::of(std::vector<OffsetBound> bounds,
                                        const EstimateOptions& options) {
  std::stable_sort(bounds.begin(), bounds.end(), [](const OffsetBound& a, const OffsetBound& b) {
    return a.at != b.at ? a.at < b.at : a.halfWidth() < b.halfWidth();
  });
  bounds.erase(std::unique(bounds.begin(), bounds.end(),
                           [](const OffsetBound& a, const OffsetBound& b) { return a.at == b.at; }),
               bounds.end());
  if (bounds.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the offset of the clocks was never measured");
  }
  ClockEstimate estimate;
  estimate.base_ = bounds.front().middle();
  for (OffsetBound& bound : bounds) {
    bound.low -= estimate.base_;
    bound.high -= estimate.base_;
  }
  estimate.knots_ = narrow(std::move(bounds));
  estimate.least_rate_ = options.least_rate_ppm * 1e-6;
  estimate.learn(options);
  return estimate;
}

void ClockEstimate::learn(const EstimateOptions& options) {
  for (size_t i = 0; i + 1 < knots_.size(); ++i) {
    Chord& chord = chords_.emplace_back();
    const auto time = static_cast<double>(knots_[i + 1].at - knots_[i].at);
    chord.slope = static_cast<double>(knots_[i + 1].middle() - knots_[i].middle()) / time;
    // Even the least change that the bounds allow is too fast.
    const double least = std::max(static_cast<double>(knots_[i + 1].low - knots_[i].high),
                                  static_cast<double>(knots_[i].low - knots_[i + 1].high));
    chord.is_step = least / time > kStepSlope;
    if (chord.is_step) {
      steps_.push_back(
          {knots_[i].at, knots_[i + 1].at, knots_[i + 1].middle() - knots_[i].middle()});
    }
  }
  for (size_t i = 0; i < chords_.size(); ++i) {
    // How much the rate changes around here; a step says nothing about it.
    const double own = chords_[i].is_step ? slopeBeside(i, -1) : chords_[i].slope;
    const double most =
        std::max(std::abs(own - slopeBeside(i, -1)), std::abs(own - slopeBeside(i + 1, 1)));
    chords_[i].rate = std::max(options.safety * most, least_rate_);
  }
}

/// The slope of the nearest chord on one side of a knot that is no step: -1 is the side before it.
/// The other side's where there is none; with steps alone, 0.
double ClockEstimate::slopeBeside(size_t knot, int side) const {
  for (const int way : {side, -side}) {
    auto chord = static_cast<std::ptrdiff_t>(knot) - (way < 0 ? 1 : 0);
    for (; chord >= 0 && chord < static_cast<std::ptrdiff_t>(chords_.size()); chord += way) {
      if (!chords_[static_cast<size_t>(chord)].is_step) {
        return chords_[static_cast<size_t>(chord)].slope;
      }
    }
  }
  return 0;
}

/// Before the first knot or after the last.
Bounded ClockEstimate::beyond(size_t knot, int64_t time) const {
  const OffsetBound& k = knots_[knot];
  const auto away = static_cast<double>(time - k.at);
  const int inside = away >= 0 ? -1 : 1;
  const size_t chord = knot - (inside < 0 ? 1 : 0);  // wraps around where there is none
  // With one moment alone nothing is known about the rate.
  const double rate = chord < chords_.size() ? chords_[chord].rate : kFastestSlope;
  const double slope = slopeBeside(knot, inside);
  const double spread = rate * std::abs(away);
  const double change = slope * away;
  return bounded(static_cast<double>(k.low) + change - spread,
                 static_cast<double>(k.middle()) + change,
                 static_cast<double>(k.high) + change + spread);
}

/// Between two knots the offset is near the chord, or it still goes on as before the first knot, or
/// it goes on already as after the second: a clock that was set, by however little, or got another
/// rate somewhere between them has been on one of these lines all the time, or between two of them.
Bounded ClockEstimate::within(size_t chord, int64_t time) const {
  const OffsetBound &a = knots_[chord], &b = knots_[chord + 1];
  const auto whole = static_cast<double>(b.at - a.at);
  const auto part = static_cast<double>(time - a.at);
  const double share = part / whole;
  const double before = slopeBeside(chord, -1) * part;
  const double after = slopeBeside(chord + 1, 1) * (part - whole);
  const auto on_chord = [&](double from_a, double from_b) {
    return from_a + share * (from_b - from_a);
  };
  const auto low_a = static_cast<double>(a.low), low_b = static_cast<double>(b.low);
  const auto high_a = static_cast<double>(a.high), high_b = static_cast<double>(b.high);
  const double spread = chords_[chord].rate * std::min(part, whole - part);
  return bounded(std::min({low_a + before, low_b + after, on_chord(low_a, low_b)}) - spread,
                 on_chord(static_cast<double>(a.middle()), static_cast<double>(b.middle())),
                 std::max({high_a + before, high_b + after, on_chord(high_a, high_b)}) + spread);
}

Bounded ClockEstimate::offsetAt(int64_t time) const {
  const auto next = std::upper_bound(knots_.begin(), knots_.end(), time,
                                     [](int64_t t, const OffsetBound& k) { return t < k.at; });
  const auto before = static_cast<size_t>(next - knots_.begin());  // plus one
  Bounded offset = before == 0               ? beyond(0, time)
                   : before == knots_.size() ? beyond(before - 1, time)
                                             : within(before - 1, time);
  offset.value += base_;
  return offset;
}

Bounded ClockEstimate::toOther(int64_t time) const {
  const Bounded offset = offsetAt(time);
  return {time + offset.value, offset.error};
}

}  // namespace tracesmith::clocks
