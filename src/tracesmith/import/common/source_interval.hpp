// SPDX-License-Identifier: Apache-2.0
// Checks the times and lengths that a source gives its events. A source may contain any numbers. An
// event with an impossible length gets length 0, and one with an impossible time gets no row. Both
// are counted here, so that they distort no sum and the user is told. The source of the row keeps
// the original numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class SpansOfSource {
 public:
  /// No recording lasts longer than ten years: a greater length means that a time is wrong.
  static constexpr int64_t kLongestNs = int64_t{10} * 365 * 86'400 * 1'000'000'000;
  /// Unix time in ns reaches this in 2116; a clock that counts from boot never does.
  static constexpr int64_t kFarthestNs = int64_t{1} << 62;

  /// Whether a trace can hold the time `time_ns`. Counts it if not.
  bool isTime(int64_t time_ns) {
    if (time_ns >= -kFarthestNs && time_ns <= kFarthestNs) return true;
    ++far_;
    return false;
  }
  /// Counts an event whose time does not even fit in 64 bits.
  void countTooFar() { ++far_; }
  uint64_t tooFar() const { return far_; }
  /// Length of an event from `begin_ns` to `end_ns`; nullopt: the end is missing.
  int64_t between(int64_t begin_ns, std::optional<int64_t> end_ns) {
    if (!end_ns) {
      ++open_;
      return 0;
    }
    if (*end_ns < begin_ns) {
      ++backwards_;
      return 0;
    }
    return lasting(lengthOf(begin_ns, *end_ns));
  }
  /// Length of an event that lasted `duration_ns`; 0 if that is impossible.
  int64_t lasting(int64_t duration_ns) {
    if (duration_ns < 0) {
      ++backwards_;
      return 0;
    }
    if (duration_ns > kLongestNs) {
      ++long_;
      return 0;
    }
    return duration_ns;
  }

  /// Reports the counts, both in the notes for the user and in `lost`.
  void tell(std::vector<std::string>& notes, std::string& lost) const {
    const auto say = [&](uint64_t count, std::string_view what) {
      if (count == 0) return;
      notes.push_back(std::to_string(count) + " " + std::string(what));
      lost += (lost.empty() ? "" : "; ") + notes.back();
    };
    say(backwards_, "events end before they start: shown without length");
    say(long_, "events would have lasted more than ten years: shown without length");
    say(open_, "events have no end: shown without length");
    say(far_, "events have an impossible time (beyond the year 2116): in no table");
  }

 private:
  uint64_t backwards_ = 0;
  uint64_t long_ = 0;
  uint64_t open_ = 0;
  uint64_t far_ = 0;
};

}  // namespace tracesmith::import
