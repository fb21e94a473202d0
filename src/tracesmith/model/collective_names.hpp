// SPDX-License-Identifier: Apache-2.0
// Collectives by the names of their kernels and ranges: the one table of libraries that analyses,
// queries and the emulator share. Its source says where each library's names come from.
//
//   ncclDevKernel_AllReduce_Sum_f32_RING_LL, hcom_allReduce__428_0_1, gloo:all_reduce
#pragma once

#include <cstdint>
#include <string_view>

namespace tracesmith {

enum class CollectiveOp : uint8_t {
  kNone = 0,  ///< no collective
  kOther = 1,
  kAllReduce = 2,
  kAllGather = 3,
  kReduceScatter = 4,
  kAllToAll = 5,
  kBroadcast = 6,
  kReduce = 7,
  kGather = 8,
  kScatter = 9,
  kSendRecv = 10,
  kSend = 11,
  kRecv = 12,
  kBarrier = 13,
};

/// What a kernel or range of a collective library does. kNone: it is of none, or a function of one
/// that moves no data (ncclCommInitRank).
CollectiveOp collectiveOf(std::string_view name);
/// The library whose name it is: "NCCL, RCCL". "" for none.
std::string_view collectiveLibraryOf(std::string_view name);
/// Whether a device that ran it communicated. Of libraries all of whose kernels do, also those that
/// do not say which collective they are.
bool isCollectiveKernel(std::string_view name);
std::string_view toString(CollectiveOp op);

}  // namespace tracesmith
