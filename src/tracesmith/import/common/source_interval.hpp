// SPDX-License-Identifier: Apache-2.0
// When something of a source was and how long it took. A source may hold any numbers for that: what
// no recording can have is shown without a length, or not at all, and counted here, so that no sum
// has it and a person hears of it. The source of the row keeps the numbers as they were.
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
  /// No recording lasts longer than ten years: a length beyond that has a time that is broken.
  static constexpr int64_t kLongestNs = int64_t{10} * 365 * 86'400 * 1'000'000'000;
  /// Unix time comes there in 2116, and a clock that counts from the start of a machine never.
  static constexpr int64_t kFarthestNs = int64_t{1} << 62;

  /// Whether a trace can place what was at `time_ns`.
  bool isTime(int64_t time_ns) {
    if (time_ns >= -kFarthestNs && time_ns <= kFarthestNs) return true;
    ++far_;
    return false;
  }
  /// What was at a time that not even 64 bits hold.
  void countTooFar() { ++far_; }
  uint64_t tooFar() const { return far_; }
  /// The length of what began at `begin_ns` and ended at `end_ns`; nullopt: its end is missing.
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
  /// That of what took `duration_ns`.
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

  /// Says what was counted: to the person, and in the text of what the trace has lost.
  void tell(std::vector<std::string>& notes, std::string& lost) const {
    const auto say = [&](uint64_t count, std::string_view what) {
      if (count == 0) return;
      notes.push_back(std::to_string(count) + " " + std::string(what));
      lost += (lost.empty() ? "" : "; ") + notes.back();
    };
    say(backwards_, "events end before they begin: shown without length");
    say(long_, "events would have lasted more than ten years: shown without length");
    say(open_, "events have no end: shown without length");
    say(far_, "events have a time that no clock shows (beyond the year 2116): in no table");
  }

 private:
  uint64_t backwards_ = 0;
  uint64_t long_ = 0;
  uint64_t open_ = 0;
  uint64_t far_ = 0;
};

}  // namespace tracesmith::import
