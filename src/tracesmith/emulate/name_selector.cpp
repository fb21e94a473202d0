// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/name_selector.hpp"

#include <array>
#include <utility>

#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith {

Result<NameSelector> NameSelector::parse(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Of>, 5> kKinds = {{{"kernel", Of::kKernel},
                                                                      {"copy", Of::kCopy},
                                                                      {"fill", Of::kFill},
                                                                      {"call", Of::kCall},
                                                                      {"host", Of::kHost}}};
  NameSelector out;
  out.text_ = text;
  if (text == kCommunication) {
    out.of_ = Of::kCommunication;
    return out;
  }
  std::string_view expression = text;
  for (const auto& [word, of] : kKinds) {
    if (!text.starts_with(word)) continue;
    const std::string_view rest = text.substr(word.size());
    // "host" takes no name; "kernel" without "=" is part of a name.
    if (rest.starts_with('=')) {
      out.of_ = of;
      expression = rest.substr(1);
    } else if (rest.empty() && of == Of::kHost) {
      out.of_ = of;
      expression = {};
    }
  }
  if (out.of_ == Of::kWork && expression.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "expected a regular expression for names, such as 'gemm', 'kernel=^void.*gemm', "
                "'copy=HtoD' or 'call=cudaMalloc'");
  }
  TS_TRY(out.names_, NamePattern::parse(expression));
  return out;
}

bool NameSelector::matches(const Trace& trace, StringId name) const {
  const bool communication = of_ == Of::kCommunication;
  if (!communication && names_.matchesEverything()) return true;
  const auto [it, fresh] = known_.try_emplace(name, false);
  if (fresh) {
    const std::string_view text = trace.text(name);
    it->second = communication ? isCollectiveKernel(text) : names_.matches(text);
  }
  return it->second;
}

bool NameSelector::matches(const Trace& trace, TableId table, StringId name) const {
  const bool right = of_ == Of::kWork || (of_ == Of::kKernel && table == TableId::kKernel) ||
                     (of_ == Of::kCommunication && table == TableId::kKernel) ||
                     (of_ == Of::kCopy && table == TableId::kCopy) ||
                     (of_ == Of::kFill && table == TableId::kFill);
  return right && matches(trace, name);
}

}  // namespace tracesmith
