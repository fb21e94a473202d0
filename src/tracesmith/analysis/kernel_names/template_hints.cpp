// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/template_hints.hpp"

#include <unordered_set>

#include "tracesmith/analysis/kernel_names/data_types.hpp"
#include "tracesmith/analysis/kernel_names/name_bytes.hpp"

namespace tracesmith {
namespace {

bool isWordByte(char c) {
  return name_bytes::isLower(c) || name_bytes::isUpper(c) || name_bytes::isDigit(c) || c == '_';
}

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
  for (const std::string_view end :
       {"Traits", "traits", "Params", "Policy", "Epilogue", "Metadata"}) {
    if (identifier.ends_with(end)) return true;
  }
  return kWrappers.contains(identifier);
}

bool removeEnd(std::string_view& text, std::string_view end) {
  if (text.size() <= end.size() || text.back() != end.back() || !text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

/// Skips what is between parentheses, but reads the parameters of lambdas: they have the data type.
struct Parentheses {
  int depth = 0;

  /// Returns whether the text at `at` is to be skipped.
  bool skips(std::string_view text, size_t at) {
    if (text[at] == '(' && (depth > 0 || !isLambda(text, at))) {
      // A cast such as (bool)1 or (anonymous namespace) is harmless: no identifier in it counts.
      ++depth;
    } else if (text[at] == ')' && depth > 0) {
      --depth;
    }
    return depth > 0;
  }

  static bool isLambda(std::string_view text, size_t at) {
    return text.substr(0, at).ends_with("lambda");
  }
};

}  // namespace

std::string shortenedIdentifier(std::string_view identifier) {
  if (identifier.empty()) return {};
  std::string_view text = identifier;
  for (const std::string_view start :
       {"CUDAFunctor_", "CUDAFunctorOnSelf_", "CUDAFunctorOnOther_"}) {
    if (text.size() > start.size() && text.starts_with(start)) text.remove_prefix(start.size());
  }
  bool again = true;
  while (again) {
    again = false;
    if (std::string_view("alrus").find(text.back()) == std::string_view::npos) break;
    for (const std::string_view end :
         {"_kernel_cuda", "_cuda_kernel", "_kernel_impl", "KernelImplInternal", "CUDAKernelImpl",
          "CUDAKernel", "KernelImpl", "_kernel", "Kernel", "_impl", "_functor", "Functor", "_cuda",
          "_gpu", "Ops"}) {
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
  Parentheses parentheses;
  std::string_view operation;
  for (size_t i = 0; i < text.size();) {
    if (parentheses.skips(text, i) || !isWordByte(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && isWordByte(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    i = end;
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
