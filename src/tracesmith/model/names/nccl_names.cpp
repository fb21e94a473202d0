// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/nccl_names.hpp"

namespace tracesmith {
namespace {

struct Type {
  std::string_view nccl_name;
  std::string_view name;
};
// ncclDataType_t, as NCCL 2.32 names its values.
constexpr Type kTypes[] = {{"ncclInt8", "int8"},
                           {"ncclUint8", "uint8"},
                           {"ncclInt32", "int32"},
                           {"ncclUint32", "uint32"},
                           {"ncclInt64", "int64"},
                           {"ncclUint64", "uint64"},
                           {"ncclFloat16", "float16"},
                           {"ncclFloat32", "float32"},
                           {"ncclFloat64", "float64"},
                           {"ncclBfloat16", "bfloat16"},
                           {"ncclFloat8e4m3", "float8_e4m3"},
                           {"ncclFloat8e5m2", "float8_e5m2"}};

/// a * b; 0 if that is too much to be true.
uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? 0 : result;
}

}  // namespace

std::string_view ncclTypeName(std::string_view nccl_type) {
  for (const Type& type : kTypes) {
    if (type.nccl_name == nccl_type) return type.name;
  }
  return nccl_type;
}

bool ncclNamesRank(std::string_view function) {
  return function == "Broadcast" || function == "Reduce" || function == "Gather" ||
         function == "Scatter" || function == "Send" || function == "Recv";
}

CommBytes ncclBytes(std::string_view function, uint64_t bytes, uint64_t ranks, bool is_root) {
  if (function == "AllReduce") return {bytes, bytes};
  if (function == "AllGather") return {bytes, product(bytes, ranks)};
  if (function == "ReduceScatter") return {product(bytes, ranks), bytes};
  if (function == "AlltoAll") return {product(bytes, ranks), product(bytes, ranks)};
  if (function == "Send") return {bytes, 0};
  if (function == "Recv") return {0, bytes};
  if (function == "Broadcast") return is_root ? CommBytes{bytes, 0} : CommBytes{0, bytes};
  if (function == "Reduce") return {bytes, is_root ? bytes : 0};
  if (function == "Gather") return {bytes, is_root ? product(bytes, ranks) : 0};
  if (function == "Scatter") return {is_root ? product(bytes, ranks) : 0, bytes};
  return {};
}

}  // namespace tracesmith
