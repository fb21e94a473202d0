// SPDX-License-Identifier: Apache-2.0
// `query --shell`: an interactive prompt for queries. Row orders built by a query are kept for the
// next ones.
#pragma once

#include <iosfwd>
#include <string>

#include "tracesmith/cli/views/query_output.hpp"

namespace tracesmith::cli {

/// The tables and views with their columns, as shown by `query FILE` and .tables.
std::string catalogText(const Catalog& catalog, const TerminalStyle& style, bool columns);

/// All constructor arguments taken by reference must outlive the shell.
class QueryShell {
 public:
  /// `prompts`: a person types the input.
  QueryShell(QueryEngine& engine, QueryFormat format, const TerminalStyle& style, bool prompts,
             Output& out)
      : engine_(engine), format_(format), style_(style), prompts_(prompts), out_(out) {}

  /// Runs until .quit or the end of `in`. A failed statement is reported and does not end the
  /// shell. Returns the number of failures.
  uint64_t run(std::istream& in);

 private:
  bool command(const std::string& line);  ///< false: ends the shell
  void runCompleteStatements(std::string& sql);
  void statement(const std::string& sql);
  void showSchema(const std::string& table);
  void failed(const std::string& message);
  void prompt(const char* text);

  QueryEngine& engine_;
  QueryFormat format_;
  TerminalStyle style_;
  bool prompts_;
  Output& out_;
  uint64_t failures_ = 0;
};

}  // namespace tracesmith::cli
