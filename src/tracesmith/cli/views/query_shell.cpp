// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/query_shell.hpp"

#include <fmt/format.h>

#include <csignal>
#include <istream>
#include <sstream>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/catalog/views.hpp"

namespace tracesmith::cli {
namespace {

constexpr std::string_view kHelp =
    "SELECT ...;            run a query; it ends with a semicolon and may take several lines\n"
    ".tables                the tables and views\n"
    ".schema [TABLE]        the columns and their meaning\n"
    ".mode table|csv|json   the output format\n"
    ".help                  this text\n"
    ".quit                  quit, as the end of the input does\n";

volatile std::sig_atomic_t interrupted = 0;

/// While a query runs, Ctrl-C ends the query, not the shell.
class InterruptEndsQuery {
 public:
  InterruptEndsQuery() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptEndsQuery() { sigaction(SIGINT, &before_, nullptr); }
  InterruptEndsQuery(const InterruptEndsQuery&) = delete;
  InterruptEndsQuery& operator=(const InterruptEndsQuery&) = delete;

 private:
  struct sigaction before_ {};
};

void appendColumns(std::string& text, const std::vector<std::string_view>& names,
                   const TerminalStyle& style) {
  std::string line = " ";
  for (const std::string_view name : names) {
    const int width = displayWidth(line) + 1 + displayWidth(name);
    if (width > (style.width > 0 ? style.width : 100)) {
      text += line + "\n";
      line = " ";
    }
    line += " ";
    line += name;
  }
  text += line + "\n";
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

std::string catalogText(const Catalog& catalog, const TerminalStyle& style, bool columns) {
  std::string text;
  for (const auto& table : catalog.tables()) {
    text += style.bold(table->name()) + "  " +
            style.dim(formatCount(table->rows()) + (table->rows() == 1 ? " row" : " rows")) + "\n";
    if (!columns) continue;
    std::vector<std::string_view> names;
    for (const auto& column : table->columns()) {
      if (!column->hidden()) names.push_back(column->name());
    }
    appendColumns(text, names, style);
  }
  for (const View& view : views()) {
    text += style.bold(view.name) + "  " + style.dim(std::string("view: ") + view.meaning) + "\n";
    if (!columns) continue;
    std::vector<std::string_view> names;
    for (const ViewColumn& column : view.columns) names.emplace_back(column.name);
    appendColumns(text, names, style);
  }
  return text;
}

void QueryShell::prompt(const char* text) {
  if (prompts_) out_.write(text);
  (void)out_.flush();  // show the results before the next prompt
}

void QueryShell::failed(const std::string& message) {
  (void)out_.flush();
  say(message);
  ++failures_;
}

uint64_t QueryShell::run(std::istream& in) {
  if (prompts_) out_.write(".help lists the commands; .quit quits\n");
  std::string sql;
  std::string line;
  while (!out_.failed()) {
    prompt(sql.empty() ? "tracesmith> " : "       ...> ");
    if (!std::getline(in, line)) break;
    if (sql.empty()) {
      const std::string word = trimmed(line);
      if (word.empty()) continue;
      if (word[0] == '.') {
        if (!command(word)) return failures_;
        continue;
      }
    }
    sql += line + "\n";
    runCompleteStatements(sql);
  }
  if (prompts_) out_.put('\n');
  if (!trimmed(sql).empty()) statement(sql);
  (void)out_.flush();
  return failures_;
}

/// Runs complete statements and keeps the rest; a line may contain several statements.
void QueryShell::runCompleteStatements(std::string& sql) {
  size_t begin = 0;
  for (size_t at = sql.find(';'); at != std::string::npos; at = sql.find(';', at + 1)) {
    const std::string one = sql.substr(begin, at + 1 - begin);
    if (!QueryEngine::endsStatement(one)) continue;
    statement(one);
    begin = at + 1;
  }
  sql = trimmed(sql.substr(begin));
  if (!sql.empty()) sql += "\n";
}

bool QueryShell::command(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  std::string argument;
  words >> name >> argument;
  if (name == ".quit" || name == ".exit" || name == ".q") return false;
  if (name == ".help") {
    out_.write(kHelp);
  } else if (name == ".tables") {
    out_.write(catalogText(engine_.catalog(), style_, false));
  } else if (name == ".schema") {
    showSchema(argument);
  } else if (name == ".mode" && (argument == "table" || argument == "csv" || argument == "json")) {
    format_ = argument == "csv"    ? QueryFormat::kCsv
              : argument == "json" ? QueryFormat::kJson
                                   : QueryFormat::kTable;
  } else if (name == ".mode") {
    failed(".mode is table, csv or json");
  } else {
    failed(name + ": there is no such command; .help lists them");
  }
  return true;
}

void QueryShell::showSchema(const std::string& table) {
  if (table.empty()) {
    out_.write(catalogText(engine_.catalog(), style_, true));
    return;
  }
  const bool plain = table.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  if (!plain || (engine_.catalog().find(table) == nullptr && findView(table) == nullptr)) {
    failed(table + ": there is no such table; .tables lists them");
    return;
  }
  if (const View* view = findView(table)) {
    out_.write(fmt::format("{}: {}\n{}\n\n", view->name, view->meaning, view->select));
  } else {
    out_.write(fmt::format("{}: {}\n\n", table, engine_.catalog().find(table)->meaning()));
  }
  statement("SELECT column_name, type, meaning FROM schema WHERE table_name = '" + table + "'");
}

void QueryShell::statement(const std::string& sql) {
  const std::unique_ptr<QueryOutput> answer = makeQueryOutput(format_, style_, out_);
  QuerySink sink;
  sink.columns = [&](std::span<const QueryColumn> columns) { answer->columns(columns); };
  sink.row = [&](std::span<const Value> values) {
    answer->row(values);
    return !out_.failed();
  };
  const InterruptEndsQuery interrupts;
  QueryOptions options;
  options.cancelled = [] { return interrupted != 0; };
  const Result<uint64_t> rows = engine_.run(sql, sink, options);
  if (rows) {
    answer->end();
  } else {
    failed(rows.error().toString());
  }
}

}  // namespace tracesmith::cli
