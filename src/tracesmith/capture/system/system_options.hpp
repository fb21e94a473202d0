// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tracesmith {

constexpr uint32_t kMostSamplesPerSecond = 20'000;

/// What is recorded of the processors (`--system`).
struct SystemOptions {
  uint32_t samples_per_second = 1000;  ///< of each thread, while it runs; 0: none
  uint32_t most_frames = 128;          ///< of a stack
  bool in_kernel = true;               ///< also by programs in the kernel, if there are rights
};

}  // namespace tracesmith
