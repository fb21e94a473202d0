// SPDX-License-Identifier: Apache-2.0
// The tables offered by `query`, derived from the schema of a trace (model/tables.hpp) and made
// easier to use: enums and strings are text, "none" and "unknown" are NULL, and expected columns
// (end_ns, pid, device_id, grid_x, ...) are computed on demand.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

class KernelLabels;

class Catalog {
 public:
  /// The tables are views of `trace`, which must outlive the catalog and must not change.
  /// `labels`: those of all kernels, if `trace` has only some of its rows; must outlive the
  /// catalog.
  explicit Catalog(const Trace& trace, const KernelLabels* labels = nullptr);
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  const std::vector<std::unique_ptr<SqlTable>>& tables() const { return tables_; }
  const SqlTable* find(std::string_view name) const;  ///< nullptr if there is none

 private:
  void addSchemaTable();

  const Trace& trace_;
  std::vector<std::unique_ptr<SqlTable>> tables_;
};

}  // namespace tracesmith
