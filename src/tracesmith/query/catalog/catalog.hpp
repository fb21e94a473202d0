// SPDX-License-Identifier: Apache-2.0
// The tables that `query` offers, made from the schema of a trace (model/tables.hpp) and made
// pleasant: enums and strings as text, "none" and "unknown" as NULL, and columns that users expect
// (end_ns, pid, device_id, grid_x, ...) computed on the way.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

class Catalog {
 public:
  /// Views into `trace`, which must outlive the catalog and not change.
  explicit Catalog(const Trace& trace);
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  const std::vector<std::unique_ptr<SqlTable>>& tables() const { return tables_; }
  const SqlTable* find(std::string_view name) const;  ///< nullptr when there is none

 private:
  void addSchemaTable();

  const Trace& trace_;
  std::vector<std::unique_ptr<SqlTable>> tables_;
};

}  // namespace tracesmith
