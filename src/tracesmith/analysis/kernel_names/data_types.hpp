// SPDX-License-Identifier: Apache-2.0
// Data types as they are spelled in names of kernels, and the one spelling that is shown.
#pragma once

#include <string_view>

namespace tracesmith {

/// The type that an identifier of C++ names, such as "bf16" for c10::BFloat16; "" if none. Names of
/// floating-point types also stand for the vector types of CUDA and HIP, such as float4.
std::string_view dataTypeOf(std::string_view identifier);
/// The type with which a word of a coded name starts: bf16bf16, e4m3xe4m3, tf32f32.
std::string_view leadingDataType(std::string_view word);
/// Whether values of this type are floating-point numbers.
bool isFloatingPoint(std::string_view data_type);

}  // namespace tracesmith
