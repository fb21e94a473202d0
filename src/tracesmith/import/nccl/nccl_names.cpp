// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nccl/nccl_names.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tracesmith::import {

std::string ncclFunction(std::string_view operation) {
  if (operation == "All2All") return "ncclAlltoAll";
  if (operation == kAnyCollective) return std::string(kAnyCollective);
  return "nccl" + std::string(operation);
}

CommKind ncclKind(std::string_view operation) {
  if (operation == "Send") return CommKind::kSend;
  if (operation == "Recv") return CommKind::kReceive;
  if (operation == "SendRecv") return CommKind::kExchange;
  constexpr std::string_view kCollectives[] = {
      "AllReduce", "AllGather", "AllGatherV", "ReduceScatter", "Broadcast",   "Reduce",
      "All2All",   "AlltoAll",  "Gather",     "Scatter",       kAnyCollective};
  if (std::find(std::begin(kCollectives), std::end(kCollectives), operation) !=
      std::end(kCollectives)) {
    return CommKind::kCollective;
  }
  return CommKind::kOther;
}

uint64_t ncclCommunicatorKey(std::string_view hexadecimal) {
  if (hexadecimal.starts_with("0x")) hexadecimal.remove_prefix(2);
  uint64_t key = 0;
  const char* const end = hexadecimal.data() + hexadecimal.size();
  const auto [behind, error] = std::from_chars(hexadecimal.data(), end, key, 16);
  return error == std::errc() && behind == end ? key : 0;
}

}  // namespace tracesmith::import
