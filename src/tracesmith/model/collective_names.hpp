// SPDX-License-Identifier: Apache-2.0
// Collectives of NCCL and RCCL by the names of their kernels and ranges:
// ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclAllReduceRingLLKernel_sum_f32,
// nccl:_all_gather_base.
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

CollectiveOp collectiveOf(std::string_view name);
std::string_view toString(CollectiveOp op);

}  // namespace tracesmith
