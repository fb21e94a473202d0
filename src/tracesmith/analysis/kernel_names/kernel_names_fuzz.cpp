// SPDX-License-Identifier: Apache-2.0
// Fuzz target: each line is a kernel's name. Short names are short and the same every time; labels
// of distinct names are distinct, in any order.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/kernel_names/kernel_name.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

constexpr size_t kMostShortBytes = 72;  // docs/kernel_names.md

void check(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::string_view> names = linesOf({reinterpret_cast<const char*>(data), size});
  for (const std::string_view name : names) {
    const KernelName read = readKernelName(name);
    const KernelName again = readKernelName(std::string(name));
    check(read.short_name == again.short_name && read.family == again.family);
    check(!read.short_name.empty());
    check(read.short_name.size() <= kMostShortBytes);
    check(!toString(read.family).empty());
  }
  const std::vector<std::string> labels = distinctLabels(names);
  check(labels.size() == names.size());
  const std::set<std::string_view> distinct_names(names.begin(), names.end());
  check(std::set<std::string>(labels.begin(), labels.end()).size() == distinct_names.size());
  std::vector<std::string_view> backwards(names.rbegin(), names.rend());
  std::vector<std::string> others = distinctLabels(backwards);
  std::reverse(others.begin(), others.end());
  check(others == labels);
  return 0;
}
