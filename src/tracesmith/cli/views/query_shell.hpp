// SPDX-License-Identifier: Apache-2.0
// The prompt of `query`. Row orders built by a query are kept for the next ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/cli/terminal/line_reader.hpp"
#include "tracesmith/cli/views/query_output.hpp"

namespace tracesmith::cli {

/// The tables and views with their columns, as shown by `query FILE` and .tables.
std::string catalogText(const Catalog& catalog, const TerminalStyle& style, bool columns);

/// All constructor arguments taken by reference must outlive the shell.
class QueryShell {
 public:
  /// The commands, and the formats of .mode, for completion.
  static std::span<const std::string_view> commands();
  static std::span<const std::string_view> modes();

  /// `prompts`: a person types the input.
  QueryShell(QueryEngine& engine, QueryFormat format, const TerminalStyle& style, bool prompts,
             Output& out)
      : engine_(engine), format_(format), style_(style), prompts_(prompts), out_(out) {}

  /// Runs until .quit or the end of the input. A failed statement is reported and does not end the
  /// shell. A statement that has no semicolon at the end of the input runs too, unless a person
  /// types it. Returns the number of failures.
  uint64_t run(LineReader& in);

  /// The earlier lines of the statement that is being typed.
  const std::string& unfinished() const { return sql_; }

 private:
  bool isCommand(const std::string& line) const;
  bool command(const std::string& line);  ///< false: ends the shell
  bool runCompleteStatements();           ///< false: ends the shell
  void remember(LineReader& in);
  void statement(const std::string& sql);
  void showSchema(const std::string& table);
  void failed(const std::string& message);

  QueryEngine& engine_;
  QueryFormat format_;
  TerminalStyle style_;
  bool prompts_;
  Output& out_;
  std::string sql_;
  std::vector<std::string> typed_;  ///< the lines of sql_ and of statements before it on the line
  uint64_t failures_ = 0;
};

}  // namespace tracesmith::cli
