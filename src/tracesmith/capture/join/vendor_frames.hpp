// SPDX-License-Identifier: Apache-2.0
// CUPTI calls back from deep within the driver, so that a stack ends in frames of the vendor's
// libraries, which say nothing of the program.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// How many of them there are at most, as a rule.
constexpr uint32_t kVendorFrames = 24;

/// True for libcupti, libcuda and libcudart, wherever they lie.
bool isVendorModule(std::string_view path);

}  // namespace tracesmith
