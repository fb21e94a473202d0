// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <iostream>
#include <optional>
#include <utility>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/line_editor.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/query_output.hpp"
#include "tracesmith/cli/views/query_shell.hpp"
#include "tracesmith/cli/views/sql_completion.hpp"
#include "tracesmith/export/chrome/source_json.hpp"
#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::cli {
namespace {

class QueryCommand : public Command {
 public:
  QueryCommand() : Command("query", "Query a trace with SQL") {
    text("FILE", input_, "FILE", "Trace (.sbt)", Complete::kFile).required();
    text("SQL", sql_, "SQL",
         "One SELECT statement; '-' reads it from standard input (default: a prompt on a terminal, "
         "elsewhere the tables)");
    time("--from", from_ns_, "Leave out events that end before this time (from the trace's start)");
    time("--to", to_ns_, "Leave out events that start at or after this time");
    flag("--csv", csv_, "Print CSV with a header line");
    flag("--json", json_, "Print JSON: an array with one object per row");
    flag("--shell", shell_, "Read queries from a prompt or from standard input");
    describe(
        "The dialect is SQLite's. Tables: kernel, copy, fill, sync, host_call, range, counter, "
        "memory_event, flow, device, stream, process, thread and others; span has every row with a "
        "duration, collective has the operations of NCCL and similar libraries. Views like "
        "kernel_summary and launch answer common questions. Times and durations are in ns. The "
        "trace is read-only. Without SQL, a terminal gets a prompt with completion and history; a "
        "pipe or file gets the list of tables with their columns.");
    example("tracesmith query trace.sbt", "Start a prompt (.help lists its commands)");
    example("tracesmith query trace.sbt | less", "List tables and columns");
    example(
        "tracesmith query trace.sbt \"SELECT name, count(*), sum(duration_ns) FROM kernel "
        "GROUP BY name ORDER BY 3 DESC\"",
        "Show the time of each kernel");
    example("tracesmith query --from 10s --to 11s trace.sbt \"SELECT * FROM kernel_summary\"",
            "Ask about one second; of a large trace, only its part is read");
    example("tracesmith query --csv trace.sbt \"SELECT * FROM copy WHERE bytes > 1e6\" > big.csv",
            "Write large copies as CSV");
    example("tracesmith query --shell trace.sbt < questions.sql", "Run the statements of a file");
  }

  int run(Session& session) override {
    if (csv_ && json_) {
      return failWith({ErrorCode::kInvalidArgument, "choose one of them", "--csv --json"});
    }
    if (shell_ && !sql_.empty()) {
      return failWith(
          {ErrorCode::kInvalidArgument, "reads queries from its prompt; omit SQL", "--shell"});
    }
    if (sql_ == "-") {
      std::optional<std::string> typed = readFileText(STDIN_FILENO);
      if (!typed) {
        return failWith(failErrno(errno, "cannot read SQL from it", "standard input").value());
      }
      sql_ = *std::move(typed);
    }
    const bool is_part = from_ns_ || to_ns_;
    Result<TraceFile> file =
        is_part ? readTraceWindow(input_, from_ns_, to_ns_, true) : readTraceFile(input_);
    if (!file) return failWith(file.error());
    const Result<KeptRows> kept = is_part ? cutToWindow(file->trace) : KeptRows();
    if (!kept) return failWith(kept.error());
    SourceLookup sources(file->reader, file->trace);
    Result<QueryEngine> engine = QueryEngine::open(file->trace, [&](TableId table, uint64_t row) {
      const auto its = kept->find(table);
      return sources.at(table, its == kept->end() ? row : its->second[row]);
    });
    if (!engine) return failWith(engine.error());
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    const QueryFormat format = csv_    ? QueryFormat::kCsv
                               : json_ ? QueryFormat::kJson
                                       : QueryFormat::kTable;
    Output out = standardOutput();
    const bool typed = isatty(STDIN_FILENO) != 0 && session.terminal.out_is_terminal;
    if (shell_ || (typed && sql_.empty() && format == QueryFormat::kTable)) {
      const uint64_t failures = runShell(*engine, format, style, typed, out);
      // A person has seen which statements failed; a script learns it from the exit code.
      const int code = failures > 0 && !typed ? kExitFailed : kExitOk;
      return finishOutput(out, reportLosses(file->reader, input_, code));
    }
    if (sql_.empty()) {
      if (format == QueryFormat::kTable) {
        out.write(catalogText(engine->catalog(), style, true));
        return finishOutput(out, reportLosses(file->reader, input_, kExitOk));
      }
      sql_ = kColumnsOfTables;
    }
    const std::unique_ptr<QueryOutput> answer = makeQueryOutput(format, style, out);
    BusyLine busy("running the query");
    QuerySink sink;
    sink.columns = [&](std::span<const QueryColumn> columns) { answer->columns(columns); };
    sink.row = [&](std::span<const Value> values) {
      busy.end();  // the first rows appear
      answer->row(values);
      return !out.failed();
    };
    const Result<uint64_t> rows = engine->run(sql_, sink);
    busy.end();
    if (!rows) {
      (void)out.flush();  // rows printed before the failure
      return failWith(rows.error());
    }
    answer->end();
    return finishOutput(out, reportLosses(file->reader, input_, kExitOk));
  }

 private:
  /// Removes the events outside of --from and --to.
  Result<KeptRows> cutToWindow(Trace& trace) const {
    TS_CHECK_OK(haveOneClock(trace));
    TS_TRY(const TimeWindow window, windowOf(trace, from_ns_, to_ns_));
    return keepRows(trace, Selection(trace, window.from_ns, window.to_ns, {}), {});
  }

  static uint64_t runShell(QueryEngine& engine, QueryFormat format, const TerminalStyle& style,
                           bool typed, Output& out) {
    QueryShell shell(engine, format, style, typed, out);
    if (typed) {
      const SqlCompletion completion(engine, QueryShell::commands(), QueryShell::modes());
      const auto complete = [&](std::string_view before, std::string_view after) {
        return completion.complete(shell.unfinished() + std::string(before), after);
      };
      const std::unique_ptr<LineReader> editor =
          openLineEditor(LineHistory::ofUser("query_history"), complete, out);
      if (editor) return shell.run(*editor);
    }
    PlainLineReader lines(std::cin, typed, out);
    return shell.run(lines);
  }

  static constexpr const char* kColumnsOfTables =
      "SELECT table_name, column_name, type, meaning FROM schema";

  std::string input_;
  std::string sql_;
  std::optional<int64_t> from_ns_, to_ns_;
  bool csv_ = false;
  bool json_ = false;
  bool shell_ = false;
};

}  // namespace

std::unique_ptr<Command> makeQueryCommand() { return std::make_unique<QueryCommand>(); }

}  // namespace tracesmith::cli
