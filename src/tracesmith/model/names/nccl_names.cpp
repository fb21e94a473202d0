// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/nccl_names.hpp"

#include <algorithm>
#include <iterator>

namespace tracesmith {
namespace {

struct Type {
  std::string_view nccl_name;
  std::string_view name;
  uint64_t bytes;
};
// ncclDataType_t, as NCCL 2.32 names its values.
constexpr Type kTypes[] = {{"ncclInt8", "int8", 1},
                           {"ncclUint8", "uint8", 1},
                           {"ncclInt32", "int32", 4},
                           {"ncclUint32", "uint32", 4},
                           {"ncclInt64", "int64", 8},
                           {"ncclUint64", "uint64", 8},
                           {"ncclFloat16", "float16", 2},
                           {"ncclFloat32", "float32", 4},
                           {"ncclFloat64", "float64", 8},
                           {"ncclBfloat16", "bfloat16", 2},
                           {"ncclFloat8e4m3", "float8_e4m3", 1},
                           {"ncclFloat8e5m2", "float8_e5m2", 1}};

const Type* typeOf(std::string_view nccl_type) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const Type& t) { return t.nccl_name == nccl_type; });
  return found == std::end(kTypes) ? nullptr : found;
}

/// a * b; 0 if that is too much to be true.
uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? 0 : result;
}

}  // namespace

std::string_view ncclTypeName(std::string_view nccl_type) {
  const Type* const type = typeOf(nccl_type);
  return type == nullptr ? nccl_type : type->name;
}

uint64_t ncclTypeBytes(std::string_view nccl_type) {
  const Type* const type = typeOf(nccl_type);
  return type == nullptr ? 0 : type->bytes;
}

bool hasRoot(std::string_view function) {
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
