// SPDX-License-Identifier: Apache-2.0
// Types of elements as `comm.data_type` names them: "float32", "bfloat16".
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// Bytes of an element; 0: unknown.
uint32_t dataTypeBytes(std::string_view data_type);

}  // namespace tracesmith
