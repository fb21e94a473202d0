// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/data_types.hpp"

#include <unordered_map>

namespace tracesmith {
namespace {

struct Spelling {
  std::string_view text;
  std::string_view type;
};

// Identifiers in C++ names: CUDA, HIP, PyTorch (c10), CUTLASS, CK, the Itanium ABI's _Float16.
constexpr Spelling kIdentifiers[] = {{"float", "f32"},
                                     {"float2", "f32"},
                                     {"float4", "f32"},
                                     {"double", "f64"},
                                     {"double2", "f64"},
                                     {"half", "f16"},
                                     {"Half", "f16"},
                                     {"__half", "f16"},
                                     {"half2", "f16"},
                                     {"__half2", "f16"},
                                     {"half_t", "f16"},
                                     {"fp16_t", "f16"},
                                     {"_Float16", "f16"},
                                     {"BFloat16", "bf16"},
                                     {"bfloat16", "bf16"},
                                     {"bfloat16_t", "bf16"},
                                     {"__nv_bfloat16", "bf16"},
                                     {"nv_bfloat16", "bf16"},
                                     {"__nv_bfloat162", "bf16"},
                                     {"__hip_bfloat16", "bf16"},
                                     {"hip_bfloat16", "bf16"},
                                     {"bf16_t", "bf16"},
                                     {"__bf16", "bf16"},
                                     {"tfloat32_t", "tf32"},
                                     {"float_e4m3_t", "e4m3"},
                                     {"Float8_e4m3fn", "e4m3"},
                                     {"Float8_e4m3fnuz", "e4m3"},
                                     {"__nv_fp8_e4m3", "e4m3"},
                                     {"__hip_fp8_e4m3", "e4m3"},
                                     {"__hip_fp8_e4m3_fnuz", "e4m3"},
                                     {"fp8_t", "e4m3"},
                                     {"float_e5m2_t", "e5m2"},
                                     {"Float8_e5m2", "e5m2"},
                                     {"Float8_e5m2fnuz", "e5m2"},
                                     {"__nv_fp8_e5m2", "e5m2"},
                                     {"bf8_t", "e5m2"},
                                     {"float_e2m1_t", "e2m1"},
                                     {"__nv_fp4_e2m1", "e2m1"},
                                     {"int8_t", "i8"},
                                     {"uint8_t", "u8"},
                                     {"int16_t", "i16"},
                                     {"uint16_t", "u16"},
                                     {"int32_t", "i32"},
                                     {"uint32_t", "u32"},
                                     {"int64_t", "i64"},
                                     {"uint64_t", "u64"},
                                     {"short", "i16"},
                                     {"int", "i32"},
                                     {"long", "i64"},
                                     {"bool", "bool"},
                                     {"char", "i8"}};

// Words of coded names; longer ones before their beginnings.
constexpr Spelling kCoded[] = {
    {"bf16", "bf16"}, {"tf32", "tf32"}, {"f16", "f16"},     {"f32", "f32"},     {"f64", "f64"},
    {"fp16", "f16"},  {"fp32", "f32"},  {"fp64", "f64"},    {"fp8", "e4m3"},    {"e4m3", "e4m3"},
    {"e5m2", "e5m2"}, {"e2m1", "e2m1"}, {"mxfp4", "mxfp4"}, {"mxfp8", "mxfp8"}, {"s8", "i8"},
    {"u8", "u8"},     {"i8", "i8"},     {"int8", "i8"},     {"s4", "i4"},       {"u4", "u4"},
    {"half", "f16"},  {"float", "f32"}};

}  // namespace

std::string_view dataTypeOf(std::string_view identifier) {
  static const std::unordered_map<std::string_view, std::string_view> kTypes([] {
    std::unordered_map<std::string_view, std::string_view> types;
    for (const Spelling& spelling : kIdentifiers) types.emplace(spelling.text, spelling.type);
    return types;
  }());
  const auto found = kTypes.find(identifier);
  return found == kTypes.end() ? std::string_view{} : found->second;
}

std::string_view leadingDataType(std::string_view word) {
  if (word.empty() || std::string_view("btfemsuih").find(word[0]) == std::string_view::npos)
    return {};
  for (const Spelling& spelling : kCoded) {
    if (!word.starts_with(spelling.text)) continue;
    // f16 in f16gemm or bf16x3; but not s8 in s884gemm.
    const char after = word.size() > spelling.text.size() ? word[spelling.text.size()] : ' ';
    if (after < '0' || after > '9') return spelling.type;
  }
  return {};
}

bool isFloatingPoint(std::string_view data_type) {
  return data_type.starts_with("f") || data_type.starts_with("bf") || data_type.starts_with("tf") ||
         data_type.starts_with("e");
}

}  // namespace tracesmith
