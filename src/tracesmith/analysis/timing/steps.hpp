// SPDX-License-Identifier: Apache-2.0
// The steps of a training or the requests of an inference: named by the trace, or found as what
// its kernels repeat.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What PyTorch's names of steps begin with.
constexpr std::string_view kPyTorchStep = "ProfilerStep";

struct Step {
  int64_t number = 0;
  StringId name{};   ///< of its range
  std::string made;  ///< its name where it has no range
  ProcessId process{};
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  std::string_view nameIn(const Trace& trace) const {
    return made.empty() ? trace.text(name) : std::string_view(made);
  }
  int64_t duration() const { return lengthOf(begin_ns, end_ns); }
};

struct Steps {
  enum class From : uint8_t {
    kNowhere,
    kProfilerStep,     ///< ranges "ProfilerStep#7" of PyTorch
    kNumberedRanges,   ///< "step 3", "train iteration 17", "batch_5": on one thread of a process
    kRepeatedRange,    ///< a range of one name that says that it is a step; the same
    kRepeatedKernels,  ///< inferred: the same kernels in the same order
  };
  From from = From::kNowhere;
  std::string pattern;  ///< "step #", or the kernel that each step begins with
  /// By begin; times of the host, where `device_times` is false.
  std::vector<Step> all;
  bool device_times = false;  ///< those of kernels: launches are unknown, or one launched several
  /// For people: "repetition of 412 kernels from … on (inferred)".
  std::string basis() const;
};

/// The first of the ways above that finds at least one ProfilerStep, two numbered ranges, three
/// repeated ones, or three repetitions that make up half of a stream's kernels.
Steps stepsOf(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
