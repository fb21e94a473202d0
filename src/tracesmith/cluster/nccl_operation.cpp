// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/nccl_operation.hpp"

#include <array>

namespace tracesmith {
namespace {

template <class Enum, size_t N>
std::string_view nameIn(const std::array<std::string_view, N>& names, Enum value) {
  const auto i = static_cast<size_t>(value);
  return i < N ? names[i] : "Unknown";
}

}  // namespace

std::string_view ncclOpTypeToString(NCCLOpType type) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "Unknown",  "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",
      "AllToAll", "Send",      "Recv",      "GroupStart",    "GroupEnd"};
  return nameIn(kNames, type);
}

std::string_view ncclRedOpToString(NCCLRedOp op) {
  static constexpr std::array<std::string_view, 5> kNames = {"Sum", "Prod", "Max", "Min", "Avg"};
  return nameIn(kNames, op);
}

std::string_view ncclDataTypeToString(NCCLDataType type) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "Int8",   "Uint8",   "Int32",   "Uint32",  "Int64",
      "Uint64", "Float16", "Float32", "Float64", "BFloat16"};
  return nameIn(kNames, type);
}

size_t ncclDataTypeSize(NCCLDataType type) {
  switch (type) {
    case NCCLDataType::Int8:
    case NCCLDataType::Uint8:
      return 1;
    case NCCLDataType::Float16:
    case NCCLDataType::BFloat16:
      return 2;
    case NCCLDataType::Int32:
    case NCCLDataType::Uint32:
    case NCCLDataType::Float32:
      return 4;
    case NCCLDataType::Int64:
    case NCCLDataType::Uint64:
    case NCCLDataType::Float64:
      return 8;
  }
  return 0;
}

}  // namespace tracesmith
