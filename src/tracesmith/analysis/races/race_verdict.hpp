// SPDX-License-Identifier: Apache-2.0
// What executing the two steps of a race the one way and the other showed. Analysis executes
// nothing: replay/check/race_trial.hpp fills it in, and who reports races says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

enum class Verdict : uint8_t {
  kConfirmed,     ///< results depend on which comes first
  kNoDifference,  ///< both orders were executed, and results are equal with these data
  kUndecided,     ///< it was tried, and nothing can be said
  kNotTried,
};

/// The first thing that is not the same.
struct RaceDifference {
  /// What a read or map showed to the host; else what memory holds after both.
  bool is_read_back = false;
  std::optional<uint64_t> sequence;  ///< of the command that showed it or left it; none: of both
  uint32_t allocation = kNone;       ///< of the recorded program
  uint64_t first_byte = 0;           ///< where not `exact`, of the first MiB that differs
  uint64_t bytes = 0;                ///< that were compared
  uint64_t differing = 0;            ///< of those; where `exact`
  bool exact = false;
};

struct RaceVerdict {
  Verdict verdict = Verdict::kNotTried;
  std::string reason;  ///< of kUndecided and kNotTried
  std::optional<RaceDifference> difference;
  uint32_t read_backs = 0;            ///< that both orders showed
  uint32_t read_backs_differing = 0;  ///< of those
  uint32_t moved_along = 0;           ///< other commands that changed places with the two
  uint64_t problems = 0;              ///< calls that could not be made again, or ended otherwise
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
