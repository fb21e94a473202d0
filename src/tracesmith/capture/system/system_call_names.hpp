// SPDX-License-Identifier: Apache-2.0
// The system calls of this kind of machine, by number.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// "" if the system that TraceSmith was built on does not know the number.
std::string_view systemCallName(uint32_t number);
/// Whether its first argument is a file descriptor.
bool takesDescriptor(std::string_view call);

}  // namespace tracesmith
