// SPDX-License-Identifier: Apache-2.0
// `query --shell`: a prompt at which a trace is asked one thing after another. What queries build
// (orders of columns) is kept in between.
#pragma once

#include <iosfwd>
#include <string>

#include "tracesmith/cli/views/query_output.hpp"

namespace tracesmith::cli {

/// The tables and views with their columns, as `query FILE` and .tables show them.
std::string catalogText(const Catalog& catalog, const TerminalStyle& style, bool columns);

class QueryShell {
 public:
  /// `prompts`: someone types at it. All must outlive it.
  QueryShell(QueryEngine& engine, QueryFormat format, const TerminalStyle& style, bool prompts,
             Output& out)
      : engine_(engine), format_(format), style_(style), prompts_(prompts), out_(out) {}

  /// Until .quit or the end of `in`; a statement that fails is said and ends nothing. Returns how
  /// many failed.
  uint64_t run(std::istream& in);

 private:
  bool command(const std::string& line);  ///< false: it ends the shell
  void runWholeStatements(std::string& sql);
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
