// SPDX-License-Identifier: Apache-2.0
// Completes what a person types at the prompt of `query`: commands, tables, columns, functions and
// keywords.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/cli/terminal/line_editor.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith::cli {

class SqlCompletion {
 public:
  /// `commands`: the shell's own, such as ".tables". `engine` must outlive the result.
  SqlCompletion(const QueryEngine& engine, std::span<const std::string_view> commands,
                std::span<const std::string_view> modes);

  /// `before`: the statement up to the cursor, with its earlier lines. `after`: the rest of the
  /// line, whose tables count too. Words match whatever their case. Nothing is completed within
  /// texts and comments.
  Completion complete(std::string_view before, std::string_view after) const;

 private:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
  };
  const Table* find(std::string_view name) const;
  std::vector<std::string> ofCommand(std::string_view line) const;
  std::vector<std::string> tableNames() const;

  std::vector<Table> tables_;  ///< views as well
  std::vector<std::string> functions_;
  std::span<const std::string_view> commands_;
  std::span<const std::string_view> modes_;
};

}  // namespace tracesmith::cli
