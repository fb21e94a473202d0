// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/operators/operator_names.hpp"

#include <cctype>
#include <utility>

#include "tracesmith/analysis/timing/steps.hpp"

namespace tracesmith {
namespace {

bool isHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

/// What the profiler itself does, in Kineto's words.
bool isOfProfiler(std::string_view category) {
  return category == "overhead" || category == "Trace";
}

}  // namespace

std::string foldedName(std::string_view name) {
  if (name.starts_with(kPyTorchStep) && name.substr(kPyTorchStep.size()).starts_with('#')) {
    return std::string(kPyTorchStep) + "*";
  }
  std::string folded;
  for (size_t i = 0; i < name.size();) {
    const bool inside_word = i > 0 && std::isalnum(static_cast<unsigned char>(name[i - 1])) != 0;
    if (inside_word || i + 2 >= name.size() || name.substr(i, 2) != "0x" || !isHex(name[i + 2])) {
      folded += name[i++];
      continue;
    }
    folded += "0x*";
    for (i += 2; i < name.size() && isHex(name[i]); ++i) {
    }
  }
  return folded;
}

OperatorNames::OperatorNames(const Trace& trace, OperatorRanges which,
                             std::vector<std::string>& names)
    : trace_(trace), which_(which), names_(names) {
  names_ = {""};
}

uint32_t OperatorNames::of(size_t range) {
  const StringId name = trace_.range.name[range];
  const StringId category = trace_.range.category[range];
  const auto [known, fresh] = of_name_and_category_.try_emplace(
      uint64_t{static_cast<uint32_t>(name)} << 32 | static_cast<uint32_t>(category), kNotWanted);
  if (!fresh || !isWanted(trace_.text(name), trace_.text(category))) return known->second;
  std::string folded = foldedName(trace_.text(name));
  const auto [number, is_new] = of_text_.try_emplace(folded, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(std::move(folded));
  return known->second = number->second;
}

bool OperatorNames::isWanted(std::string_view name, std::string_view category) const {
  const bool is_module = name.starts_with(kModulePrefix);
  switch (which_) {
    case OperatorRanges::kModules:
      return is_module;
    case OperatorRanges::kOperators:
      return !is_module && category != "python_function" && !isOfProfiler(category);
    case OperatorRanges::kStacks:
      break;
  }
  return !name.starts_with(kPyTorchStep) && !isOfProfiler(category);
}

}  // namespace tracesmith
