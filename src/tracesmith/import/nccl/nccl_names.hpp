// SPDX-License-Identifier: Apache-2.0
// Names and numbers that NCCL's own outputs share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith::import {

/// Stands for all collectives: RAS before NCCL 2.26 counts them together.
constexpr std::string_view kAnyCollective = "collective";

/// The function of NCCL's interface that an operation is named after: "ncclAllReduce" for
/// "AllReduce".
std::string ncclFunction(std::string_view operation);
CommKind ncclKind(std::string_view operation);

/// The key of a communicator: NCCL's hash of it, which is equal on all ranks. `hexadecimal`:
/// "0x7f8c496ae9f661b3", or without "0x". 0 if it is none. The Inspector cuts the hash after 14
/// digits, so its keys differ from those of other sources.
uint64_t ncclCommunicatorKey(std::string_view hexadecimal);

}  // namespace tracesmith::import
