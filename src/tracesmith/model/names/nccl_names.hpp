// SPDX-License-Identifier: Apache-2.0
// What NCCL's names of functions and types say. Names of functions are without "nccl".
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

/// In `comm.algorithm`: copy engines do it, without a kernel. NCCL numbers these collectives apart
/// from the others of their function.
constexpr std::string_view kCopyEngines = "CE";

/// "float32" for "ncclFloat32"; a name that is not known stays as it is.
std::string_view ncclTypeName(std::string_view nccl_type);

/// Whether a call names one rank: the root of a collective, or the peer of a message.
bool ncclNamesRank(std::string_view function);

struct CommBytes {
  uint64_t sent = 0;
  uint64_t received = 0;
};
/// What a rank sends and receives by a function's definition, if its `count` elements have `bytes`
/// together: of AllGather, Gather, and AllToAll those for each rank, of ReduceScatter and Scatter
/// those that each rank receives. `ranks` 0: unknown, and so is what depends on it.
CommBytes ncclBytes(std::string_view function, uint64_t bytes, uint64_t ranks, bool is_root);

}  // namespace tracesmith
