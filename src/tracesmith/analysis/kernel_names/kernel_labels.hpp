// SPDX-License-Identifier: Apache-2.0
// Short labels of a set of kernel names in which distinct kernels stay distinct.
//
//   Cijk_Alik_Bljk_BBS_..._GRVWA8_...  ->  tensile_gemm<bf16, 256x192x64, tn> [GRVWA8]
//   Cijk_Alik_Bljk_BBS_..._GRVWA4_...  ->  tensile_gemm<bf16, 256x192x64, tn> [GRVWA4]
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/model/ids.hpp"

namespace tracesmith {

class StringTable;
struct Trace;

/// One label per name, in the order of `names`. Names with equal short names get a suffix: the
/// first one or two words that differ, or a hash of the name. The labels depend on the set of
/// names, not on its order; equal names have equal labels.
std::vector<std::string> distinctLabels(std::span<const std::string_view> names);

/// The names of a trace's kernels.
class KernelLabels {
 public:
  KernelLabels() = default;
  explicit KernelLabels(const Trace& trace);
  /// `ids`: distinct names of kernels. The texts must outlive this object.
  KernelLabels(const StringTable& texts, std::span<const StringId> ids);

  /// The label of a kernel's name; any other text is returned as it is. Valid until this object or
  /// the trace ends.
  std::string_view label(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::string> labels_;  // keys lie in the trace
};

}  // namespace tracesmith
