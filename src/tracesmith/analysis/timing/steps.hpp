// SPDX-License-Identifier: Apache-2.0
// The steps of a training run or the requests of an inference: named by the trace, or inferred from
// repeated kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Prefix of PyTorch's step names.
constexpr std::string_view kPyTorchStep = "ProfilerStep";

struct Step {
  int64_t number = 0;
  StringId name{};   ///< name of its range
  std::string made;  ///< its name if it has no range
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
    kRepeatedRange,    ///< a repeated range whose name denotes a step; on one thread of a process
    kRepeatedKernels,  ///< inferred: the same kernels in the same order
  };
  From from = From::kNowhere;
  std::string pattern;  ///< "step #", or the first kernel of each step
  /// By start; host times unless `device_times`.
  std::vector<Step> all;
  /// Times are those of kernels, because launches are unknown or one launched several steps.
  bool device_times = false;
  /// Readable text: "repetition of 412 kernels from … on (inferred)".
  std::string basis() const;
};

/// Whether ranges of this name can be steps; stepsOf() needs no others.
bool canNameStep(std::string_view name);

/// Whether a tool or framework records ranges of this category itself: they are no steps.
bool isCategoryOfTool(std::string_view category);

/// A name that can be a step's, apart from its last number: "step 12" is "step #" and 12.
struct StepName {
  std::string pattern;
  std::optional<int64_t> number;
};
/// Empty: ranges of this name are no steps.
std::optional<StepName> stepNameOf(std::string_view name);

/// Uses the first method of Steps::From that finds at least one ProfilerStep, two numbered ranges,
/// three repeated ranges, or three repetitions that cover half of a stream's kernels.
Steps stepsOf(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
