// SPDX-License-Identifier: Apache-2.0
// Follows the steps of a running program by the ranges that name them, and tells which are slow.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "tracesmith/fleet/value_sums.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class StepWatch {
 public:
  /// `factor`: a step is slow if it takes more than this times the median of the steps before it;
  /// 0: none is.
  explicit StepWatch(double factor) : factor_(factor) {}

  /// Takes the ranges of a part of the trace. Returns what is to be said of the first slow step;
  /// "": none is slow.
  std::string add(const Trace& rows);
  /// Durations of all steps: of those with PyTorch's name, or else of the name that took the most
  /// time.
  ValueSums steps() const;

  /// Steps of one name that must have been seen before one of them can be slow.
  static constexpr size_t kFewestBefore = 8;

 private:
  struct Sequence {
    ValueCollector all;
    std::deque<int64_t> recent;
    int64_t total_ns = 0;
    uint64_t count = 0;
    bool is_pytorch = false;
    bool is_numbered = false;
  };
  struct Name {
    bool is_step = false;
    bool is_numbered = false;
    bool is_pytorch = false;
    std::string pattern;
  };
  const Name& nameOf(const Trace& rows, StringId id);

  double factor_;
  std::map<StringId, Name> names_;
  std::map<std::pair<ThreadId, std::string>, Sequence> sequences_;  // by thread and pattern
};

}  // namespace tracesmith
