// SPDX-License-Identifier: Apache-2.0
// Result of executing the two steps of a race in both orders. Analysis executes nothing:
// replay/check/race_trial.hpp fills this in, and race reports show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

enum class Verdict : uint8_t {
  kConfirmed,     ///< results depend on the order
  kNoDifference,  ///< both orders were executed; results are equal with these data
  kUndecided,     ///< tried without a conclusion
  kNotTried,
};

/// The first difference.
struct RaceDifference {
  /// true: data that a read or map showed to the host; false: memory content after both steps.
  bool is_read_back = false;
  /// Sequence number of the command that showed or produced it; none: after both steps.
  std::optional<uint64_t> sequence;
  uint32_t allocation = kNone;  ///< index in the recorded program
  /// Exact position, or if not `exact`, start of the first MiB that differs.
  uint64_t first_byte = 0;
  uint64_t bytes = 0;      ///< bytes compared
  uint64_t differing = 0;  ///< differing bytes; only if `exact`
  bool exact = false;
};

struct RaceVerdict {
  Verdict verdict = Verdict::kNotTried;
  std::string reason;  ///< for kUndecided and kNotTried
  std::optional<RaceDifference> difference;
  uint32_t read_backs = 0;            ///< read-backs in both orders
  uint32_t read_backs_differing = 0;  ///< of those, read-backs that differ
  uint32_t moved_along = 0;           ///< other commands that had to move together with the two
  uint64_t problems = 0;              ///< calls that could not be repeated, or had another outcome
};

constexpr std::string_view toString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kConfirmed:
      return "confirmed";
    case Verdict::kNoDifference:
      return "no difference seen";
    case Verdict::kUndecided:
      return "undecided";
    case Verdict::kNotTried:
      return "not tried";
  }
  return "";
}

}  // namespace tracesmith::races
