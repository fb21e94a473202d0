// SPDX-License-Identifier: Apache-2.0
// What template arguments say to people: the operation and the data type inside a generic kernel.
//
//   4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<
//   float> >, std::array<char*, 3ul>   ->   operation "mul", data type "f32"
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

struct TemplateHints {
  std::string_view first;  ///< the first identifier that is no type, unchanged
  std::string operation;   ///< the first one that is no wrapper either, shortened
  std::string_view data_type;
};

TemplateHints readTemplateHints(std::string_view template_arguments);

/// "reduce" of "reduce_kernel", "add" of "CUDAFunctor_add", "gelu" of "GeluCUDAKernelImpl".
std::string shortenedIdentifier(std::string_view identifier);

}  // namespace tracesmith
