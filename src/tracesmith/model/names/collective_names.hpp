// SPDX-License-Identifier: Apache-2.0
// Recognises collectives by the names of their kernels and ranges. Analyses, queries and the
// emulator share this table of libraries; the .cpp cites the source of each library's names.
//
//   ncclDevKernel_AllReduce_Sum_f32_RING_LL, hcom_allReduce__428_0_1, gloo:all_reduce
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tracesmith {

enum class CollectiveOp : uint8_t {
  kNone = 0,  ///< not a collective
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

/// The operation of a collective library's kernel or range. kNone: not from such a library, or a
/// function that moves no data (ncclCommInitRank).
CollectiveOp collectiveOf(std::string_view name);
/// The library that uses this name, such as "NCCL, RCCL"; "" if there is none.
std::string_view collectiveLibraryOf(std::string_view name);
/// Whether a device running this kernel was communicating. For libraries whose kernels all
/// communicate, this includes names that do not tell the operation.
bool isCollectiveKernel(std::string_view name);
/// Texts in lower case. isCollectiveKernel() is true only of names that contain one of them,
/// without regard to case, so a search for many texts at once can exclude the other names.
std::vector<std::string_view> collectiveTexts();
std::string_view toString(CollectiveOp op);

}  // namespace tracesmith
