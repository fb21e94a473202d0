// SPDX-License-Identifier: Apache-2.0
// Whether our libraries can be in a program at all.
#pragma once

#include <cstdint>
#include <string>

namespace tracesmith {

enum class Reach : uint8_t {
  kOpen,       // they can, as far as its file says
  kStatic,     // no dynamic linker loads it; what it starts may be open
  kPrivileged  // it gets rights by being run, so the system drops what we put into its environment
};

struct ProgramReach {
  Reach reach = Reach::kOpen;
  std::string path;  // the file that would run; "" where there is none
  std::string why;   // of kPrivileged: "set-user-id to nobody", …
};

/// Of the program that execvp(3) would run for `command`, by the calling user.
ProgramReach reachOf(const std::string& command);

}  // namespace tracesmith
