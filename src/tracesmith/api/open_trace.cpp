// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/open_trace.hpp"

#include <utility>
#include <vector>

#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/query/arrow/arrow_table.hpp"

namespace tracesmith {

OpenTrace::~OpenTrace() = default;

Result<OpenTrace> OpenTrace::open(const std::string& path) {
  import::ImportCounts counts;
  TS_TRY(TraceReader reader, import::openTrace(path, counts));
  TS_TRY(TraceTables tables, TraceTables::open(std::move(reader)));
  return OpenTrace(std::move(tables));
}

Result<uint64_t> OpenTrace::rows(std::string_view table) {
  TS_TRY(const Loaded loaded, tables_.need(table, {}));
  return presentRows(*loaded->catalog->find(table));
}

Result<ColumnArray> OpenTrace::column(std::string_view table, const std::string& name) {
  TS_TRY(const Loaded loaded, tables_.need(table, {&name, 1}));
  const SqlTable& rows = *loaded->catalog->find(table);
  for (const auto& column : rows.columns()) {
    if (column->name() == name) return columnArray(loaded, rows, *column);
  }
  return fail(ErrorCode::kInternal, "a column went away", name);
}

Status OpenTrace::arrow(std::string_view table, std::span<const std::string> columns,
                        ArrowArrayStream* out) {
  TS_TRY(const Loaded loaded, tables_.need(table, columns));
  const SqlTable& rows = *loaded->catalog->find(table);
  std::vector<std::pair<std::string, ColumnArray>> arrays;
  for (const std::string& name : columns) {
    for (const auto& column : rows.columns()) {
      if (column->name() == name) arrays.emplace_back(name, columnArray(loaded, rows, *column));
    }
  }
  startArrowTable(presentRows(rows), std::move(arrays), out);
  return {};
}

Result<QueryEngine*> OpenTrace::engine() {
  TS_TRY(const Loaded loaded, tables_.needAll());
  if (engine_ == nullptr) {
    asked_ = loaded;
    sources_ = std::make_unique<SourceLookup>(tables_.reader(), loaded->trace);
    TS_TRY(QueryEngine made, QueryEngine::open(loaded->trace, [sources = sources_.get()](
                                                                  TableId table, uint64_t row) {
             return sources->at(table, row);
           }));
    engine_ = std::make_unique<QueryEngine>(std::move(made));
  }
  return engine_.get();
}

}  // namespace tracesmith
