// SPDX-License-Identifier: Apache-2.0
// The programs of a session whose functions XRay traces: what those are called is read once,
// however many processes run a program.
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
  /// Called before a program is read, after it, and again and again while that lasts.
  void onProgress(std::function<void()> progress) { progress_ = std::move(progress); }

  /// The functions of the program that lies at `path` now, or why they are not known; lives as long
  /// as this.
  const Result<XRaySymbols>& functionsOf(const std::string& path);

  /// How often one was read.
  uint64_t filesRead() const { return files_read_; }

 private:
  // Path, device, inode, bytes, and when it was last changed: another build in the same place is
  // another program.
  using Key = std::tuple<std::string, uint64_t, uint64_t, int64_t, int64_t, int64_t>;
  static Key keyOf(const std::string& path);

  std::map<Key, Result<XRaySymbols>> programs_;
  uint64_t files_read_ = 0;
  std::function<void()> progress_;
};

}  // namespace tracesmith
