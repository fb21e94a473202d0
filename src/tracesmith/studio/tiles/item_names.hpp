// SPDX-License-Identifier: Apache-2.0
// Numbers for the names of timeline items, so that tiles need no text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith::studio {

/// A StringId of the trace, or a number of its own for the kind of a copy, fill or wait.
using NameId = uint32_t;

class ItemNames {
 public:
  /// `trace` must outlive the object.
  explicit ItemNames(const Trace& trace);

  NameId of(const DeviceSpan& item) const;
  /// The full name; empty if there is no such name.
  std::string_view full(NameId id) const;
  /// Of a kernel its label (KernelLabels), else the full name.
  std::string_view label(NameId id) const;

 private:
  const Trace& trace_;
  KernelLabels labels_;
  std::vector<bool> is_kernel_;  // by StringId
};

}  // namespace tracesmith::studio
