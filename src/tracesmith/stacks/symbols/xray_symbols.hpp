// SPDX-License-Identifier: Apache-2.0
// Names of the functions that XRay numbers, from the program that was instrumented: its section
// xray_instr_map says where the function of each number begins, its symbol table what that is
// called. ELF of 64 bits, little-endian. Nothing in the file is believed before it is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

class XRaySymbols {
 public:
  /// Error: it cannot be read, is no ELF file of that kind, or was not built with
  /// -fxray-instrument. A large program takes seconds, in which `progress` is called again and
  /// again.
  static Result<XRaySymbols> ofBinary(const std::string& path,
                                      const std::function<void()>& progress = {});

  /// "" where no symbol says; functions are counted from 1.
  const std::string& name(int32_t function) const;
  size_t functions() const { return names_.size(); }
  /// Of those: how many have a name.
  size_t named() const { return named_; }

 private:
  std::vector<std::string> names_;  // from function 1 on
  size_t named_ = 0;
};

/// The program that wrote the log "xray-log.PROGRAM.XXXXXX" (the runtime's name for it), where it
/// lies beside the log and is instrumented; "" otherwise.
std::string xrayBinaryBeside(const std::string& log);

}  // namespace tracesmith
