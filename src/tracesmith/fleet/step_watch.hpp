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
  /// Durations of all steps, chosen as stepsOf() does: those with PyTorch's name; or else, of each
  /// process, those of one thread whose names are equal but for a number, or equal.
  ValueSums steps() const;

  /// Steps of one name that must have been seen before one of them can be slow.
  static constexpr size_t kFewestBefore = 8;

 private:
  struct Name {
    bool is_step = false;
    bool is_numbered = false;
    bool is_pytorch = false;
    std::string pattern;
  };
  /// Steps of one thread whose names differ in a number at most.
  struct Sequence {
    ProcessId process{};
    ValueCollector all;
    std::deque<int64_t> recent;
    int64_t first_ns = 0, last_end_ns = 0;
    int64_t total_ns = 0;
    uint64_t count = 0;
    bool overlaps = false;
    bool is_pytorch = false;
    bool is_numbered = false;

    /// As stepsOf() has it: one after another, for half of the time at least.
    bool isOfSteps() const;
  };
  using Sequences = std::map<std::pair<ThreadId, std::string>, Sequence>;  // by thread and pattern
  Sequence& sequenceOf(const RangeTable& ranges, size_t row, const Name& name);
  const Name& nameOf(const Trace& rows, StringId id);

  double factor_;
  std::map<StringId, Name> names_;
  Sequences sequences_;
};

}  // namespace tracesmith
