// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_bandwidth.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace tracesmith {
namespace {

uint64_t productOf(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

}  // namespace

bool hasUnequalParts(std::string_view function) {
  if (function.ends_with("_c")) function.remove_suffix(2);  // MPI's counts of 64 bits
  return function.ends_with('v') || function.ends_with('w');
}

uint64_t operationBytes(CollectiveOp op, std::string_view function, uint64_t ranks,
                        uint64_t send_bytes, uint64_t receive_bytes) {
  const uint64_t largest = std::max(send_bytes, receive_bytes);
  if (op != CollectiveOp::kGather && op != CollectiveOp::kScatter) return largest;
  const bool is_root = op == CollectiveOp::kGather ? receive_bytes > 0 : send_bytes > 0;
  if (is_root) return largest;
  return hasUnequalParts(function) ? 0 : productOf(largest, ranks);
}

std::optional<double> busFactor(CollectiveOp op, uint64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return ranks == 0 ? std::nullopt : std::optional(2 * (n - 1) / n);
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kGather:
    case CollectiveOp::kScatter:
      return ranks == 0 ? std::nullopt : std::optional((n - 1) / n);
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
    case CollectiveOp::kSend:
    case CollectiveOp::kRecv:
    case CollectiveOp::kSendRecv:
      return 1.0;
    default:
      return std::nullopt;
  }
}

double algorithmBandwidth(uint64_t bytes, int64_t duration_ns) {
  if (duration_ns <= 0) return 0;
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(duration_ns);
}

bool waitsForAll(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllGather ||
         op == CollectiveOp::kReduceScatter || op == CollectiveOp::kAllToAll ||
         op == CollectiveOp::kBarrier;
}

bool hasRoot(CollectiveOp op) {
  return op == CollectiveOp::kBroadcast || op == CollectiveOp::kReduce ||
         op == CollectiveOp::kGather || op == CollectiveOp::kScatter;
}

}  // namespace tracesmith
