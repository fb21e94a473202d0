// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/template_hints.hpp"

#include <array>
#include <cstdint>
#include <unordered_set>

#include "tracesmith/analysis/kernel_names/data_types.hpp"
#include "tracesmith/analysis/kernel_names/name_bytes.hpp"

namespace tracesmith {
namespace {

constexpr std::array<bool, 256> kIsWordByte = [] {
  std::array<bool, 256> is{};
  for (int c = 0; c < 256; ++c) {
    const auto byte = static_cast<char>(c);
    is[static_cast<size_t>(c)] =
        name_bytes::isLetter(byte) || name_bytes::isDigit(byte) || byte == '_';
  }
  return is;
}();
bool isWordByte(char c) { return kIsWordByte[static_cast<uint8_t>(c)]; }

constexpr std::string_view kWrapperEnds[] = {"Traits", "traits",   "Params",
                                             "Policy", "Epilogue", "Metadata"};
// What shortenedIdentifier() removes.
constexpr std::string_view kStarts[] = {"CUDAFunctor_", "CUDAFunctorOnSelf_",
                                        "CUDAFunctorOnOther_"};
constexpr std::string_view kEnds[] = {
    "_kernel_cuda",   "_cuda_kernel", "_kernel_impl", "KernelImplInternal",
    "CUDAKernelImpl", "CUDAKernel",   "KernelImpl",   "_kernel",
    "Kernel",         "_impl",        "_functor",     "Functor",
    "_cuda",          "_gpu",         "Ops"};

/// Wrappers, containers and keywords, which say nothing about the operation.
bool isWrapper(std::string_view identifier) {
  static const std::unordered_set<std::string_view> kWrappers = {
      // The language and its library.
      "const", "unsigned", "signed", "void", "true", "false", "operator", "lambda", "instance",
      "unnamed", "anonymous", "namespace", "array", "enable_if", "decltype", "nullptr", "type",
      "tuple", "integer_sequence", "integral_constant", "sequence",
      // PyTorch's loops: ATen/native/cuda/Loops.cuh, CUDALoops.cuh, Reduce.cuh, MultiTensorApply.
      "Array", "BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor", "gpu_kernel_impl",
      "gpu_kernel_impl_nocast", "gpu_index_kernel", "opmath_gpu_kernel_with_scalars",
      "TrivialOffsetCalculator", "OffsetCalculator", "LoadWithCast", "LoadWithoutCast",
      "StoreWithCast", "StoreWithoutCast", "ReduceOp", "func_wrapper_t", "OpaqueType",
      "TensorListMetadata", "TensorListScalarListMetadata", "FusedOptimizerTensorListMetadata",
      "BinaryOpListAlphaFunctor", "BinaryOpScalarFunctor", "BinaryOpScalarListFunctor",
      "BinaryOpScalarTensorFunctor", "UnaryOpFunctor", "PointwiseOpScalarFunctor",
      "PointwiseOpScalarListFunctor", "TernaryOpScalarFunctor", "TernaryOpListFunctor", "T1", "T2",
      "T3", "T4", "T5", "Var", "GenericPackedTensorAccessor", "TensorIteratorBase", "NormType",
      // CUB, rocPRIM, cuBLAS.
      "DeviceRadixSortPolicy", "DeviceScanPolicy", "DispatchReduceByKey", "ScanTileState",
      "ReduceByKeyScanTileState", "NullType", "InputValue", "default_config", "empty_type",
      "Policy600", "Policy700", "Policy800", "Policy900", "AgentScanPolicy", "BlockLoadAlgorithm",
      "target_arch", "cublasGemvTensorStridedBatched", "cublasGemvParams", "cublasGemvParamsEx",
      "cublasGemmk1Params", "cublasGemmSmallNParams", "cublasTransposeParams", "cublasDotParams",
      "cublasSplitKParams", "cudnnKernelDataType_t", "Fp8KVCacheDataType", "select_method"};
  for (const std::string_view end : kWrapperEnds) {
    if (identifier.ends_with(end)) return true;
  }
  return kWrappers.contains(identifier);
}

bool removeEnd(std::string_view& text, std::string_view end) {
  if (text.size() <= end.size() || text.back() != end.back() || !text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

}  // namespace

std::string shortenedIdentifier(std::string_view identifier) {
  if (identifier.empty()) return {};
  std::string_view text = identifier;
  for (const std::string_view start : kStarts) {
    if (text.size() > start.size() && text.starts_with(start)) text.remove_prefix(start.size());
  }
  bool again = true;
  while (again) {
    again = false;
    if (std::string_view("alrus").find(text.back()) == std::string_view::npos) break;
    for (const std::string_view end : kEnds) {
      again = removeEnd(text, end) || again;
    }
  }
  std::string out(text);
  // Mul and Gelu become mul and gelu; MaxNan and SoftMax stay.
  bool one_word = out.size() > 1 && name_bytes::isUpper(out[0]);
  for (size_t i = 1; i < out.size(); ++i) one_word = one_word && name_bytes::isLower(out[i]);
  if (one_word) out[0] = static_cast<char>(out[0] - 'A' + 'a');
  return out;
}

TemplateHints readTemplateHints(std::string_view text) {
  TemplateHints out;
  std::string_view other_type;
  int parentheses = 0;  // open ones, whose words are skipped
  std::string_view operation;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (!isWordByte(c)) {
      // The parameters of a lambda are read: they have the data type.
      const bool opens = c == '(' && (parentheses > 0 || !text.substr(0, i).ends_with("lambda"));
      if (opens) ++parentheses;
      if (c == ')' && parentheses > 0) --parentheses;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && isWordByte(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    i = end;
    if (parentheses > 0) continue;
    if (name_bytes::isDigit(word[0]) || text.substr(end).starts_with("::")) continue;
    if (const std::string_view type = dataTypeOf(word); !type.empty()) {
      if (isFloatingPoint(type)) {
        if (out.data_type.empty()) out.data_type = type;
      } else if (other_type.empty() && word != "char" && word != "bool" &&
                 !text.substr(0, end - word.size()).ends_with("unsigned ")) {
        // Unsigned integers are mostly types of indices.
        other_type = type;
      }
      continue;
    }
    if (out.first.empty()) out.first = word;
    if (operation.empty() && !isWrapper(word)) operation = word;
    if (!operation.empty() && !out.data_type.empty()) break;
  }
  if (out.data_type.empty()) out.data_type = other_type;
  if (!operation.empty()) out.operation = shortenedIdentifier(operation);
  return out;
}

}  // namespace tracesmith
