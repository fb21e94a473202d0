// SPDX-License-Identifier: Apache-2.0
// Columns that are read from the names of kernels: family and short name. Computed on first use,
// once per distinct name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/dictionary_column.hpp"

namespace tracesmith {

class KernelLabels;

class KernelNameColumn : public DictionaryColumn {
 public:
  /// `table` is the table of this column.
  KernelNameColumn(std::string name, std::string meaning, const SqlTable& table, const Trace& trace)
      : DictionaryColumn(std::move(name), std::move(meaning), table), trace_(trace) {}

 protected:
  uint32_t count() const final;
  std::string_view textOf(uint32_t number) const final;
  void numbers(const uint64_t* rows, size_t n, uint32_t* out) const final;

  /// The texts of these names, in their order.
  virtual std::vector<std::string> textsOf(const std::vector<std::string_view>& names) const = 0;

 private:
  void readNames() const;

  const Trace& trace_;
  mutable bool is_read_ = false;
  mutable std::vector<uint32_t> number_of_;  // by string id; 0: no kernel has this name
  mutable std::vector<std::string> texts_;   // by number, from 1
};

/// "gemm", "attention", ...
class KernelFamilyColumn final : public KernelNameColumn {
 public:
  using KernelNameColumn::KernelNameColumn;

 private:
  std::vector<std::string> textsOf(const std::vector<std::string_view>& names) const override;
};

/// The name as tables show it; distinct names have distinct labels.
class KernelLabelColumn final : public KernelNameColumn {
 public:
  /// `labels`: those of the names of all kernels, if the table has only some rows; else null.
  KernelLabelColumn(std::string name, std::string meaning, const SqlTable& table,
                    const Trace& trace, const KernelLabels* labels)
      : KernelNameColumn(std::move(name), std::move(meaning), table, trace), labels_(labels) {}

 private:
  std::vector<std::string> textsOf(const std::vector<std::string_view>& names) const override;

  const KernelLabels* labels_;
};

}  // namespace tracesmith
