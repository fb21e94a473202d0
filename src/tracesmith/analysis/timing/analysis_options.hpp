// SPDX-License-Identifier: Apache-2.0
// How the analyses count.
#pragma once

#include <cstdint>

namespace tracesmith {

struct AnalysisOptions {
  /// Count as HTA (Holistic Trace Analysis 0.5.0, its last release) does, so that the two can be
  /// compared: times rounded to whole microseconds (starts up, ends down), classes by its patterns
  /// of names, waits on streams are work, and only what was launched before the last ProfilerStep
  /// where there are several.
  bool as_hta = false;
  /// With as_hta: the patterns of names of its main branch, which calls itself 0.6.
  bool hta_main = false;
  /// Gaps shorter than this are the device's own (HTA: consecutive_kernel_delay).
  int64_t kernel_wait_ns = 30'000;
};

}  // namespace tracesmith
