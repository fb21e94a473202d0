// SPDX-License-Identifier: Apache-2.0
// Options for how the analyses count.
#pragma once

#include <cstdint>

namespace tracesmith {

struct AnalysisOptions {
  /// Counts as HTA (Holistic Trace Analysis 0.5.0, its last release) does, for comparison:
  /// - Times are rounded to whole microseconds (starts up, ends down).
  /// - Classes follow HTA's name patterns.
  /// - Waits on streams count as work.
  /// - If there are several ProfilerSteps, only work launched before the last one counts.
  bool as_hta = false;
  /// With as_hta: uses the name patterns of HTA's main branch, which calls itself 0.6.
  bool hta_main = false;
  /// Gaps shorter than this are attributed to the device (HTA: consecutive_kernel_delay).
  int64_t kernel_wait_ns = 30'000;
};

}  // namespace tracesmith
