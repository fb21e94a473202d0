// SPDX-License-Identifier: Apache-2.0
// The programs of a session whose functions XRay traces. The function names of a program are read
// once, even if several processes run it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "tracesmith/base/result.hpp"
#include "tracesmith/stacks/symbols/xray_symbols.hpp"

namespace tracesmith {

class TracedPrograms {
 public:
  /// Sets a function that is called before and after a program is read, and repeatedly in between.
  void onProgress(std::function<void()> progress) { progress_ = std::move(progress); }

  /// The functions of the program that is at `path` now, or the error. Valid as long as this
  /// object.
  const Result<XRaySymbols>& functionsOf(const std::string& path);

  /// Number of programs read.
  uint64_t filesRead() const { return files_read_; }

 private:
  // Path, device, inode, size, and time of the last change: a new build at the same path is another
  // program.
  using Key = std::tuple<std::string, uint64_t, uint64_t, int64_t, int64_t, int64_t>;
  static Key keyOf(const std::string& path);

  std::map<Key, Result<XRaySymbols>> programs_;
  uint64_t files_read_ = 0;
  std::function<void()> progress_;
};

}  // namespace tracesmith
