// SPDX-License-Identifier: Apache-2.0
// Frames of the vendor's libraries at the inner end of a call stack. CUPTI's callbacks come from
// deep within the driver, and these frames say nothing about the program.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// How many of them a stack usually has at most.
constexpr uint32_t kVendorFrames = 24;

/// True for libcupti, libcuda and libcudart, in any directory.
bool isVendorModule(std::string_view path);

}  // namespace tracesmith
