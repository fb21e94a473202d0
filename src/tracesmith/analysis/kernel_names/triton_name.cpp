// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/triton_name.hpp"

namespace tracesmith {
namespace {

using enum KernelFamily;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether the underscore-separated words include `word`, which may itself have underscores.
bool hasOperator(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || text[at - 1] == '_') && (end == text.size() || text[end] == '_')) return true;
  }
  return false;
}

// Operators that only move, and those that only write. Longer ones before their beginnings.
struct Mover {
  std::string_view text;
  KernelFamily family;
};
constexpr Mover kMovers[] = {{"constant_pad_nd", kCopy},
                             {"_unsafe_view", kCopy},
                             {"unsafe_split", kCopy},
                             {"_unsafe_index", kCopy},
                             {"index_select", kCopy},
                             {"index_put", kCopy},
                             {"as_strided", kCopy},
                             {"slice_scatter", kCopy},
                             {"select_scatter", kCopy},
                             {"lift_fresh_copy", kCopy},
                             {"lift_fresh", kCopy},
                             {"_to_copy", kCopy},
                             {"transpose", kCopy},
                             {"permute", kCopy},
                             {"unsqueeze", kCopy},
                             {"squeeze", kCopy},
                             {"reshape", kCopy},
                             {"expand", kCopy},
                             {"detach", kCopy},
                             {"scatter", kCopy},
                             {"gather", kCopy},
                             {"select", kCopy},
                             {"repeat", kCopy},
                             {"unbind", kCopy},
                             {"stack", kCopy},
                             {"slice", kCopy},
                             {"split", kCopy},
                             {"clone", kCopy},
                             {"index", kCopy},
                             {"view", kCopy},
                             {"copy_", kCopy},
                             {"copy", kCopy},
                             {"flip", kCopy},
                             {"roll", kCopy},
                             {"cat", kCopy},
                             {"full_like", kFill},
                             {"zeros_like", kFill},
                             {"ones_like", kFill},
                             {"new_zeros", kFill},
                             {"zeros", kFill},
                             {"ones", kFill},
                             {"full", kFill},
                             {"fill", kFill},
                             {"zero_", kFill},
                             {"arange", kFill},
                             {"iota", kFill},
                             {"t", kCopy}};

/// The family of a kernel that computes nothing; kElementwise if an operator computes.
KernelFamily moverFamily(std::string_view operators) {
  KernelFamily family = kOther;
  while (!operators.empty()) {
    const Mover* found = nullptr;
    for (const Mover& mover : kMovers) {
      if (!operators.starts_with(mover.text)) continue;
      if (operators.size() > mover.text.size() && operators[mover.text.size()] != '_' &&
          !mover.text.ends_with('_')) {
        continue;
      }
      found = &mover;
      break;
    }
    if (found == nullptr) return kElementwise;
    if (family != kCopy) family = found->family;
    operators.remove_prefix(found->text.size());
    if (operators.starts_with('_')) operators.remove_prefix(1);
  }
  return family == kOther ? kElementwise : family;
}

/// add_relu of triton_poi_fused_add_relu_3.
std::string_view operatorsOf(std::string_view name) {
  const size_t fused = name.find("fused_");
  if (fused == std::string_view::npos) return {};
  name.remove_prefix(fused + 6);
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end < name.size()) name = name.substr(0, end > 0 ? end - 1 : 0);
  return name;
}

}  // namespace

bool isInductorName(std::string_view name) {
  return name.starts_with("triton_") &&
         (has(name, "_fused_") || name.starts_with("triton_tem_") ||
          name.starts_with("triton_mm") || name.starts_with("triton_bmm"));
}

KernelFamily inductorFamily(std::string_view name) {
  const std::string_view operators = operatorsOf(name);
  const std::string_view kind = name.substr(std::string_view("triton_").size());
  if (kind.starts_with("tem_") || kind.starts_with("mm") || kind.starts_with("bmm")) {
    if (has(operators, "attention")) return kAttention;
    if (has(operators, "conv")) return kConvolution;
    return kGemm;
  }
  if (has(operators, "softmax")) return kSoftmax;
  if (has(operators, "norm") && !has(operators, "linalg_vector_norm")) return kNormalization;
  const bool pointwise = kind.starts_with("poi_");
  if (!pointwise) {
    const bool scales = hasOperator(operators, "rsqrt");
    if (scales && (hasOperator(operators, "mean") || hasOperator(operators, "var_mean") ||
                   hasOperator(operators, "var") || hasOperator(operators, "pow"))) {
      return kNormalization;
    }
    if (hasOperator(operators, "exp") &&
        (hasOperator(operators, "amax") || hasOperator(operators, "sum"))) {
      return kSoftmax;
    }
    if (has(operators, "cumsum") || has(operators, "cumprod") || hasOperator(operators, "sort")) {
      return kSort;
    }
    return kReduction;
  }
  if (has(operators, "dropout") || has(operators, "bernoulli") || hasOperator(operators, "rand") ||
      hasOperator(operators, "randn")) {
    return kRandom;
  }
  if (has(operators, "pool")) return kPooling;
  if (hasOperator(operators, "embedding")) return kEmbedding;
  return moverFamily(operators);
}

}  // namespace tracesmith
