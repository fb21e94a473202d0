// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/clocks/clock_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tracesmith::clocks {
namespace {

constexpr size_t kAround = 3;   // moments to each side that a moment is compared with
constexpr double kTooWide = 2;  // times the median of those around it
// What is faster from one moment to the next is named a step: the clock was set, or corrected in
// haste.
constexpr double kStepSlope = 1e-3;
constexpr double kFastestSlope = kMostDriftPpm * 1e-6;
// By how much the rate of a clock changes where nothing was measured: the kernel and ntpd correct
// clocks by up to 500 parts per million.
constexpr double kUnseenChange = 500e-6;
// Between moments that are further apart the rate may have changed unseen as well.
constexpr int64_t kLongGapNs = 10'000'000'000;
// Bounds that are closer to each other than this many of their half-widths, and than half a second,
// say nothing about the rate: several recorders of one host have asked its time daemon.
constexpr int64_t kCloseHalfWidths = 1'000, kCloseNs = 500'000'000;
// What the value of an offset loses at most per ns, so that times stay in order.
constexpr double kMostBackward = 0.9;
constexpr size_t kManyKnots = 64;
// Times beyond make no sense, and sums of them would overflow.
constexpr double kMost = 0x1p61;

int64_t wholeNs(double ns) { return static_cast<int64_t>(ns); }

Bounded boundedBy(double low, double value, double high) {
  const int64_t whole = std::llround(std::clamp(value, -kMost, kMost));
  const auto middle = static_cast<double>(whole);
  return {whole, wholeNs(std::ceil(std::clamp(std::max(high - middle, middle - low), 0.0, kMost)))};
}

/// Whether one offset that changes slowly can be in both bounds.
bool canBeOne(const OffsetBound& a, const OffsetBound& b) {
  const auto drift = static_cast<int64_t>(kStepSlope * static_cast<double>(std::abs(b.at - a.at)));
  return a.low - drift <= b.high && b.low - drift <= a.high;
}

/// The narrowest of each few bounds that are close, the first and the last.
std::vector<OffsetBound> thin(const std::vector<OffsetBound>& bounds) {
  std::vector<OffsetBound> kept;
  int64_t window = 0;  // when the bounds began that the last kept one stands for
  for (size_t i = 0; i < bounds.size(); ++i) {
    const OffsetBound& bound = bounds[i];
    if (!kept.empty() && bound.at == kept.back().at) {
      if (bound.halfWidth() < kept.back().halfWidth()) kept.back() = bound;
      continue;
    }
    const bool is_end = kept.size() < 2 || i + 1 == bounds.size();
    if (!is_end && canBeOne(kept.back(), bound)) {
      const int64_t wider = std::max(kept.back().halfWidth(), bound.halfWidth());
      const int64_t close =
          wider >= kCloseNs / kCloseHalfWidths ? kCloseNs : wider * kCloseHalfWidths;
      if (bound.at - window < close) {
        if (bound.halfWidth() < kept.back().halfWidth()) kept.back() = bound;
        continue;
      }
    }
    kept.push_back(bound);
    window = bound.at;
  }
  return kept;
}

/// Without those that are much wider than the ones around, and say nothing that these do not.
std::vector<OffsetBound> narrow(const std::vector<OffsetBound>& bounds) {
  std::vector<OffsetBound> kept;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const size_t first = i >= kAround ? i - kAround : 0;
    const size_t last = std::min(i + kAround + 1, bounds.size());
    std::vector<int64_t> around;
    for (size_t k = first; k < last; ++k) around.push_back(bounds[k].halfWidth());
    std::nth_element(around.begin(),
                     around.begin() + static_cast<std::ptrdiff_t>(around.size() / 2), around.end());
    const double median = static_cast<double>(around[around.size() / 2]);
    const bool is_needed = i == 0 || i + 1 == bounds.size() || !canBeOne(kept.back(), bounds[i]) ||
                           !canBeOne(bounds[i], bounds[i + 1]);
    if (is_needed || static_cast<double>(bounds[i].halfWidth()) <= kTooWide * median)
      kept.push_back(bounds[i]);
  }
  return kept;
}

Result<std::vector<OffsetBound>> sorted(std::vector<OffsetBound> bounds) {
  if (bounds.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the offset of the clocks was never measured");
  }
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const OffsetBound& a, const OffsetBound& b) { return a.at < b.at; });
  return narrow(thin(bounds));
}

/// By how much an offset may change within a ns beside one of the bounds: twice what it takes from
/// the farthest end of this bound to that of its neighbour; anything if it was changed in haste.
double fastestBeside(const std::vector<OffsetBound>& bounds, size_t i) {
  double fastest = bounds.size() > 1 ? 0 : kFastestSlope;
  for (const size_t other : {i == 0 ? i : i - 1, i + 1 == bounds.size() ? i : i + 1}) {
    if (other == i) continue;
    const auto apart = static_cast<double>(std::abs(bounds[other].at - bounds[i].at));
    const auto rise = static_cast<double>(bounds[other].high - bounds[i].low);
    const auto fall = static_cast<double>(bounds[i].high - bounds[other].low);
    const double most = std::max(rise, fall), least = -std::min(rise, fall);
    fastest = std::max(fastest,
                       least / apart > kStepSlope ? kFastestSlope : kStepSlope + 2 * most / apart);
  }
  return std::min(fastest, kFastestSlope);
}

/// What is as small as `plain` counts as it is; more counts as far as it is no error.
double withoutError(double x, double error, double plain) {
  if (std::abs(x) <= plain) return x;
  return std::copysign(std::max(std::abs(x) - error, plain), x);
}

}  // namespace

int64_t TimeBound::error() const {
  int64_t below = 0, above = 0;
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  if (__builtin_sub_overflow(value, low, &below)) below = kAll;
  if (__builtin_sub_overflow(high, value, &above)) above = kAll;
  return std::max({below, above, int64_t{0}});
}

Result<ClockEstimate> ClockEstimate::of(std::vector<OffsetBound> bounds,
                                        const EstimateOptions& options) {
  TS_TRY(const std::vector<OffsetBound> in_order, sorted(std::move(bounds)));
  return ofSorted(in_order, options);
}

Result<ClockEstimate> ClockEstimate::seenFromOther(std::vector<OffsetBound> bounds,
                                                   const EstimateOptions& options) {
  TS_TRY(const std::vector<OffsetBound> in_order, sorted(std::move(bounds)));
  std::vector<OffsetBound> seen;
  for (size_t i = 0; i < in_order.size(); ++i) {
    // This clock is within half-width / (1 - rate) of bound.at when the other one shows the time.
    const OffsetBound& bound = in_order[i];
    const double rate = fastestBeside(in_order, i);
    const int64_t drift = wholeNs(static_cast<double>(bound.halfWidth()) * rate / (1 - rate)) + 2;
    seen.push_back({bound.at + bound.middle(), -bound.high - drift, -bound.low + drift});
  }
  return of(std::move(seen), options);
}

ClockEstimate ClockEstimate::ofSorted(const std::vector<OffsetBound>& bounds,
                                      const EstimateOptions& options) {
  ClockEstimate estimate;
  estimate.base_ = bounds.front().middle();
  for (const OffsetBound& bound : bounds) {
    const auto relative = [&](int64_t ns) { return static_cast<double>(ns - estimate.base_); };
    double value = relative(bound.middle());
    if (!estimate.knots_.empty()) {
      const Knot& last = estimate.knots_.back();
      const auto time = static_cast<double>(bound.at - last.at);
      value = std::max(value, last.offset.value - kMostBackward * time);
    }
    estimate.knots_.push_back({bound.at, {relative(bound.low), value, relative(bound.high)}});
  }
  estimate.addChords();
  estimate.learnRates(options);
  estimate.before_first_ = estimate.tailFrom(0);
  estimate.after_last_ = estimate.tailFrom(estimate.knots_.size() - 1);
  estimate.extremes_ = estimate.knots_.front().offset;
  for (size_t i = 0; i < estimate.chords_.size(); ++i) {
    const int64_t from = estimate.knots_[i].at, to = estimate.knots_[i + 1].at;
    for (const int64_t time : {from, from + (to - from) / 2, to}) {
      const Range range = estimate.within(i, time);
      estimate.extremes_.low = std::min(estimate.extremes_.low, range.low);
      estimate.extremes_.high = std::max(estimate.extremes_.high, range.high);
    }
  }
  return estimate;
}

/// The mean slope between two knots. Their values may be elsewhere, so that times stay in order.
ClockEstimate::Slope ClockEstimate::slopeBetween(size_t knot, size_t other) const {
  const Range &a = knots_[knot].offset, &b = knots_[other].offset;
  const double time = static_cast<double>(knots_[other].at) - static_cast<double>(knots_[knot].at);
  const double rise = (b.low + b.high) / 2 - (a.low + a.high) / 2;
  return {rise / time, (b.high - b.low + a.high - a.low) / 2 / std::abs(time)};
}

void ClockEstimate::addChords() {
  for (size_t i = 0; i + 1 < knots_.size(); ++i) {
    Chord& chord = chords_.emplace_back();
    const Knot &a = knots_[i], &b = knots_[i + 1];
    chord.slope = slopeBetween(i, i + 1);
    // Even the least change that the bounds allow is too fast.
    const double least = std::max(b.offset.low - a.offset.high, a.offset.low - b.offset.high);
    chord.is_step = least / static_cast<double>(b.at - a.at) > kStepSlope;
    if (chord.is_step) {
      steps_.push_back(
          {a.at, b.at, std::llround(chord.slope.value * static_cast<double>(b.at - a.at))});
    }
    chord.slope.value = withoutError(chord.slope.value, chord.slope.error, kUnseenChange);
  }
  // A step says nothing about the rate beside it. With steps alone, it is taken to be 0.
  std::optional<Slope> slope;
  std::vector<std::optional<Slope>> until(chords_.size() + 1), from(chords_.size() + 1);
  for (size_t i = 0; i < chords_.size(); ++i) {
    if (!chords_[i].is_step) slope = chords_[i].slope;
    until[i + 1] = slope;
  }
  slope.reset();
  for (size_t i = chords_.size(); i-- > 0;) {
    if (!chords_[i].is_step) slope = chords_[i].slope;
    from[i] = slope;
  }
  for (size_t i = 0; i < chords_.size(); ++i) {
    chords_[i].slope_before = until[i] ? *until[i] : from[i].value_or(Slope());
    chords_[i].slope_after = from[i + 1] ? *from[i + 1] : until[i + 1].value_or(Slope());
    // A fast correction beside it may go on for a part of it.
    const auto fast = [&](size_t beside, double otherwise) {
      if (beside >= chords_.size() || !chords_[beside].is_step) return otherwise;
      const double slope_beside = chords_[beside].slope.value;
      return std::abs(slope_beside) <= kFastestSlope ? slope_beside : otherwise;
    };
    chords_[i].fast_before = fast(i - 1, chords_[i].slope_before.value);  // wraps around at 0
    chords_[i].fast_after = fast(i + 1, chords_[i].slope_after.value);
  }
}

/// How much the rate changes around each chord.
void ClockEstimate::learnRates(const EstimateOptions& options) {
  for (size_t i = 0; i < chords_.size(); ++i) {
    Chord& chord = chords_[i];
    const Slope own = chord.is_step ? chord.slope_before : chord.slope;
    double most = 0;
    for (const Slope& beside : {chord.slope_before, chord.slope_after}) {
      most = std::max(most, withoutError(std::abs(own.value - beside.value),
                                         own.error + beside.error, kUnseenChange / options.safety));
    }
    chord.rate = std::max(options.safety * most, options.least_rate_ppm * 1e-6);
    if (knots_[i + 1].at - knots_[i].at > kLongGapNs) {
      chord.rate = std::max(chord.rate, kUnseenChange);
    }
  }
}

ClockEstimate::Tail ClockEstimate::tailFrom(size_t knot) const {
  // With one moment alone nothing is known about the rate.
  if (chords_.empty()) return {-kFastestSlope, 0, kFastestSlope};
  const bool is_last = knot != 0;
  const auto chordInside = [&](size_t i) { return is_last ? chords_.size() - 1 - i : i; };
  const Chord& outermost = chords_[chordInside(0)];
  Slope slope = is_last ? outermost.slope_before : outermost.slope_after;
  if (outermost.is_step) {
    // Set, or still being corrected.
    slope.error = std::abs(outermost.slope.value - slope.value);
  } else {
    // Over as long a time as makes the slope the most certain.
    const Slope last = slope = slopeBetween(knot, is_last ? knot - 1 : knot + 1);
    for (size_t i = 1; i < chords_.size() && !chords_[chordInside(i)].is_step; ++i) {
      const Slope longer = slopeBetween(knot, is_last ? knot - 1 - i : knot + 1 + i);
      // The rate has changed since.
      if (std::abs(longer.value - last.value) > longer.error + last.error) break;
      if (longer.error < slope.error) slope = longer;
    }
  }
  double changes = kUnseenChange;
  for (size_t i = 0; i < std::min(kAround, chords_.size()); ++i) {
    changes = std::max(changes, chords_[chordInside(i)].rate);
  }
  // A fast correction may be over, and a slope that is mostly error says little.
  const double low = std::min(slope.value - slope.error, 0.0) - changes;
  const double high = std::max(slope.value + slope.error, 0.0) + changes;
  return {std::max(low, -kFastestSlope),
          std::clamp(withoutError(slope.value, slope.error, kUnseenChange), -kFastestSlope,
                     kFastestSlope),
          std::min(high, kFastestSlope)};
}

ClockEstimate::Range ClockEstimate::beyond(size_t knot, const Tail& tail, int64_t time) const {
  const Range& k = knots_[knot].offset;
  const auto away = static_cast<double>(time) - static_cast<double>(knots_[knot].at);
  return {k.low + std::min(tail.low * away, tail.high * away), k.value + tail.value * away,
          k.high + std::max(tail.low * away, tail.high * away)};
}

/// Between two knots the offset is near the chord, or it still goes on as before the first knot, or
/// it goes on already as after the second: a clock that was set, by however little, or got another
/// rate somewhere between them has been on one of these lines all the time, or between two of them.
ClockEstimate::Range ClockEstimate::within(size_t chord, int64_t time) const {
  const Knot &a = knots_[chord], &b = knots_[chord + 1];
  const Chord& c = chords_[chord];
  const auto whole = static_cast<double>(b.at - a.at);
  const auto part = static_cast<double>(time - a.at);
  const double share = part / whole;
  const double before = c.slope_before.value * part;
  const double after = c.slope_after.value * (part - whole);
  const double fast_before = c.fast_before * part, fast_after = c.fast_after * (part - whole);
  const auto on_chord = [&](double from_a, double from_b) {
    return from_a + share * (from_b - from_a);
  };
  const double spread = c.rate * std::min(part, whole - part);
  return {
      std::min({a.offset.low + std::min(before, fast_before),
                b.offset.low + std::min(after, fast_after), on_chord(a.offset.low, b.offset.low)}) -
          spread,
      on_chord(a.offset.value, b.offset.value),
      std::max({a.offset.high + std::max(before, fast_before),
                b.offset.high + std::max(after, fast_after),
                on_chord(a.offset.high, b.offset.high)}) +
          spread};
}

size_t ClockEstimate::knotAfter(int64_t time) const {
  const auto next = std::upper_bound(knots_.begin(), knots_.end(), time,
                                     [](int64_t t, const Knot& k) { return t < k.at; });
  return static_cast<size_t>(next - knots_.begin());
}

ClockEstimate::Range ClockEstimate::at(int64_t time) const {
  const size_t next = knotAfter(time);
  if (next == 0) return beyond(0, before_first_, time);
  if (next == knots_.size()) return beyond(next - 1, after_last_, time);
  return within(next - 1, time);
}

Bounded ClockEstimate::offsetAt(int64_t time) const {
  const Range offset = at(time);
  Bounded result = boundedBy(offset.low, offset.value, offset.high);
  result.value += base_;
  return result;
}

int64_t ClockEstimate::moved(int64_t time, double offset) const {
  const auto most = static_cast<int64_t>(kMost);
  return std::clamp(time, -most, most) + std::clamp(base_, -most, most) +
         wholeNs(std::clamp(offset, -kMost, kMost));
}

TimeBound ClockEstimate::toOther(const TimeBound& time) const {
  TimeBound result;
  const Range offset = at(time.value);
  result.value = moved(time.value, std::round(offset.value));
  result.low = moved(time.value, std::floor(offset.low));
  result.high = moved(time.value, std::ceil(offset.high));
  const auto cover = [&](int64_t from, const Range& range) {
    result.low = std::min(result.low, moved(from, std::floor(range.low)));
    result.high = std::max(result.high, moved(from, std::ceil(range.high)));
  };
  if (time.low < time.value) cover(time.low, at(time.low));
  if (time.high > time.value) cover(time.high, at(time.high));
  // The bound is straight or bent outwards between a knot and the middle of a chord, so its
  // extremes are there.
  const size_t first = knotAfter(time.low), end = knotAfter(time.high);
  if (end - first > kManyKnots) {
    cover(time.low, extremes_);
    cover(time.high, extremes_);
    return result;
  }
  const size_t first_chord = first == 0 ? 0 : first - 1;
  for (size_t i = first_chord; time.low < time.high && i < chords_.size() && i < end; ++i) {
    const int64_t from = knots_[i].at, to = knots_[i + 1].at;
    for (const int64_t each : {from, from + (to - from) / 2, to}) {
      if (each >= time.low && each <= time.high) cover(each, within(i, each));
    }
  }
  return result;
}

}  // namespace tracesmith::clocks
