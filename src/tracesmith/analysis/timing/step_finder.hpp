// SPDX-License-Identifier: Apache-2.0
// Which step a piece of device work belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/analysis/timing/steps.hpp"

namespace tracesmith {

/// Looks at `steps` and `ops` as long as it lives.
class StepFinder {
 public:
  StepFinder(const Steps& steps, const DeviceOps& ops);

  /// Number in Steps::all of the step of its process in which an op was launched (began, where step
  /// times are those of the device): the last to begin where several are open. Where one process
  /// alone marks steps, those of all. all.size(): none.
  size_t stepOf(const DeviceOp& op) const;

 private:
  /// Of one process, by begin.
  struct Place {
    uint32_t step = 0;
    uint32_t longer = kNone;  ///< the last one before that ends later
  };
  static constexpr uint32_t kNone = DeviceOp::kNone;

  const Steps& steps_;
  const DeviceOps& ops_;
  std::map<ProcessId, std::vector<Place>> places_;
};

}  // namespace tracesmith
