// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/query_shell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/terminal/line_editor.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/terminal.hpp"
#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/catalog/views.hpp"

namespace tracesmith::cli {
namespace {

constexpr std::string_view kHelp =
    "SELECT ...;      run a query; it ends with a semicolon and may take several lines\n"
    ".tables          the tables and views\n"
    ".schema [TABLE]  the columns and their meaning\n"
    ".mode FORMAT     the output format: table, line, csv, json or markdown\n"
    ".help            this text\n"
    ".quit            quit, as Ctrl-D and the end of the input do\n";

constexpr std::string_view kKeys =
    "Tab completes commands, tables, columns and functions. Ctrl-R searches the history.\n"
    "Ctrl-C ends a running query, or clears what was typed.\n";

constexpr std::string_view kNoEditor =
    "This build has no line editing, history and completion: it was built without libedit.\n";

constexpr std::array<std::string_view, 5> kCommands = {".help", ".mode", ".quit", ".schema",
                                                       ".tables"};
constexpr std::array<std::string_view, 5> kModes = {"csv", "json", "line", "markdown", "table"};
constexpr std::array<QueryFormat, 5> kFormats = {QueryFormat::kCsv, QueryFormat::kJson,
                                                 QueryFormat::kLine, QueryFormat::kMarkdown,
                                                 QueryFormat::kTable};

bool endsShell(std::string_view word) { return word == ".quit" || word == ".exit" || word == ".q"; }

volatile std::sig_atomic_t query_interrupted = 0;

/// While a query runs, Ctrl-C ends the query, not the shell.
class InterruptEndsQuery {
 public:
  InterruptEndsQuery() {
    query_interrupted = 0;
    before_ = std::signal(SIGINT, [](int) { query_interrupted = 1; });
  }
  ~InterruptEndsQuery() { std::signal(SIGINT, before_); }
  InterruptEndsQuery(const InterruptEndsQuery&) = delete;
  InterruptEndsQuery& operator=(const InterruptEndsQuery&) = delete;

 private:
  void (*before_)(int) = SIG_DFL;
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

std::span<const std::string_view> QueryShell::commands() { return kCommands; }
std::span<const std::string_view> QueryShell::modes() { return kModes; }

void QueryShell::failed(const std::string& message) {
  (void)out_.flush();
  say(message);
  ++failures_;
}

uint64_t QueryShell::run(LineReader& in) {
  if (prompts_) out_.write(".help lists the commands; .quit quits\n");
  std::string line;
  while (!out_.failed()) {
    const LineReader::Answer answer = in.read(sql_.empty() ? "tracesmith> " : "       ...> ", line);
    if (answer == LineReader::Answer::kEnd) break;
    if (answer == LineReader::Answer::kCancelled) {
      sql_.clear();
      typed_.clear();
      continue;
    }
    const std::string word = trimmed(line);
    if (sql_.empty() && word.empty()) continue;
    typed_.push_back(word);
    bool goes_on = true;
    if (isCommand(word)) {
      goes_on = command(word);
    } else {
      sql_ += line + "\n";
      goes_on = runCompleteStatements();
    }
    if (sql_.empty()) remember(in);
    if (!goes_on) {
      (void)out_.flush();
      return failures_;
    }
  }
  if (!prompts_ && !trimmed(sql_).empty()) statement(sql_);
  (void)out_.flush();
  return failures_;
}

/// Whether the shell itself answers `line`. In the middle of a statement, a person's line is a
/// command only if it names one: SQL may start a line with ".5".
bool QueryShell::isCommand(const std::string& line) const {
  if (sql_.empty()) return line[0] == '.' || (prompts_ && (line == "quit" || line == "exit"));
  const std::string word = line.substr(0, line.find(' '));
  return prompts_ && (endsShell(word) ||
                      std::find(kCommands.begin(), kCommands.end(), word) != kCommands.end());
}

/// Adds what was typed to the history: one entry, so that a statement of several lines comes back
/// as a whole. Lines with comments stay apart, because a comment ends with its line.
void QueryShell::remember(LineReader& in) {
  std::string entry;
  for (const std::string& line : typed_) {
    entry += (entry.empty() || line.empty() ? "" : " ") + line;
  }
  if (entry.find("--") == std::string::npos) {
    in.remember(entry);
  } else {
    for (const std::string& line : typed_) in.remember(line);
  }
  typed_.clear();
}

/// Runs complete statements and keeps the rest; a line may contain several statements, and a
/// command after them.
bool QueryShell::runCompleteStatements() {
  size_t begin = 0;
  for (size_t at = sql_.find(';'); at != std::string::npos; at = sql_.find(';', at + 1)) {
    const std::string one = sql_.substr(begin, at + 1 - begin);
    if (!QueryEngine::endsStatement(one)) continue;
    statement(one);
    begin = at + 1;
  }
  std::string rest = trimmed(sql_.substr(begin));
  sql_.clear();
  if (begin > 0 && rest.starts_with('.')) return command(rest);
  if (!rest.empty()) sql_ = rest + "\n";
  return true;
}

bool QueryShell::command(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  std::string argument;
  words >> name >> argument;
  while (!argument.empty() && argument.back() == ';') argument.pop_back();
  while (!name.empty() && name.back() == ';') name.pop_back();
  if (endsShell(name) || name == "quit" || name == "exit") return false;
  if (name == ".help") {
    out_.write(kHelp);
    if (prompts_) out_.write(hasLineEditor() ? kKeys : kNoEditor);
  } else if (name == ".tables") {
    out_.write(catalogText(engine_.catalog(), style_, false));
  } else if (name == ".schema") {
    showSchema(argument);
  } else if (name == ".mode") {
    const auto* const mode = std::find(kModes.begin(), kModes.end(), argument);
    if (mode == kModes.end()) {
      failed(".mode is table, line, csv, json or markdown");
    } else {
      format_ = kFormats[static_cast<size_t>(mode - kModes.begin())];
    }
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
  if (prompts_) style_.width = detectTerminal(false).width;  // the window may have a new size
  const std::unique_ptr<QueryOutput> answer = makeQueryOutput(format_, style_, out_);
  QuerySink sink;
  sink.columns = [&](std::span<const QueryColumn> columns) { answer->columns(columns); };
  sink.row = [&](std::span<const Value> values) {
    answer->row(values);
    return !out_.failed();
  };
  const InterruptEndsQuery interrupts;
  QueryOptions options;
  options.cancelled = [] { return query_interrupted != 0; };
  const Result<uint64_t> rows = engine_.run(sql, sink, options);
  if (rows) {
    answer->end();
  } else {
    failed(rows.error().toString());
  }
}

}  // namespace tracesmith::cli
