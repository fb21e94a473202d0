// SPDX-License-Identifier: Apache-2.0
// Names of the functions that XRay numbers, read from the instrumented program. Its section
// xray_instr_map gives the address of each numbered function, its symbol table the name. Only
// 64-bit little-endian ELF. Everything in the file is checked before use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

class XRaySymbols {
 public:
  /// Error: the file cannot be read, is no such ELF file, or was not built with -fxray-instrument.
  /// A large program takes seconds; `progress` is called repeatedly meanwhile.
  static Result<XRaySymbols> ofBinary(const std::string& path,
                                      const std::function<void()>& progress = {});

  /// "" if no symbol names it; functions are numbered from 1.
  const std::string& name(int32_t function) const;
  size_t functions() const { return names_.size(); }
  /// Number of functions that have a name.
  size_t named() const { return named_; }

 private:
  std::vector<std::string> names_;  // from function 1 on
  size_t named_ = 0;
};

/// The program that wrote the log "xray-log.PROGRAM.XXXXXX" (the runtime's naming scheme), if it is
/// in the log's folder and instrumented; "" otherwise.
std::string xrayBinaryBeside(const std::string& log);

}  // namespace tracesmith
