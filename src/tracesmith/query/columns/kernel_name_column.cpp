// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/kernel_name_column.hpp"

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"

namespace tracesmith {

void KernelNameColumn::readNames() const {
  if (is_read_) return;
  is_read_ = true;
  const Column<StringId>& ids = trace_.kernel.name;
  number_of_.assign(trace_.strings.size() + 1, 0);
  std::vector<std::string_view> names;
  for (const StringId id : ids) {
    const auto i = static_cast<size_t>(id);
    if (i == 0 || i >= number_of_.size() || number_of_[i] != 0) continue;
    names.push_back(trace_.text(id));
    number_of_[i] = static_cast<uint32_t>(names.size());
  }
  texts_ = textsOf(names);
}

uint32_t KernelNameColumn::count() const {
  readNames();
  return static_cast<uint32_t>(texts_.size());
}

std::string_view KernelNameColumn::textOf(uint32_t number) const { return texts_[number - 1]; }

void KernelNameColumn::numbers(const uint64_t* rows, size_t n, uint32_t* out) const {
  readNames();
  for (size_t i = 0; i < n; ++i) {
    const auto id = static_cast<size_t>(trace_.kernel.name[rows[i]]);
    out[i] = id < number_of_.size() ? number_of_[id] : 0;
  }
}

std::vector<std::string> KernelFamilyColumn::textsOf(
    const std::vector<std::string_view>& names) const {
  std::vector<std::string> texts;
  for (const std::string_view name : names) {
    texts.emplace_back(toString(readKernelName(name).family));
  }
  return texts;
}

std::vector<std::string> KernelLabelColumn::textsOf(
    const std::vector<std::string_view>& names) const {
  if (labels_ == nullptr) return distinctLabels(names);
  std::vector<std::string> texts;
  for (const std::string_view name : names) texts.emplace_back(labels_->label(name));
  return texts;
}

}  // namespace tracesmith
