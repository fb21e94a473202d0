// SPDX-License-Identifier: Apache-2.0
// Whether a library can be loaded into a program at all.
#pragma once

#include <cstdint>
#include <string>

namespace tracesmith {

enum class Eligibility : uint8_t {
  kEligible,   // it can, as far as the file shows
  kStatic,     // no dynamic linker loads it; processes it starts may be open
  kPrivileged  // it gains privileges when run, so the system ignores our environment variables
};

struct ProgramEligibility {
  Eligibility eligibility = Eligibility::kEligible;
  std::string path;  // the file that would run; "" if none
  std::string why;   // for kPrivileged: "set-user-id to nobody", …
};

/// For the program that execvp(3) would run for `command`, by the calling user.
ProgramEligibility checkEligibility(const std::string& command);

}  // namespace tracesmith
