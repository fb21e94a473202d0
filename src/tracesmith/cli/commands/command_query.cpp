// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <iostream>
#include <optional>
#include <utility>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/query_output.hpp"
#include "tracesmith/cli/views/query_shell.hpp"
#include "tracesmith/export/chrome/source_json.hpp"

namespace tracesmith::cli {
namespace {

class QueryCommand : public Command {
 public:
  QueryCommand() : Command("query", "Query a trace with SQL") {
    text("FILE", input_, "FILE", "Trace (.sbt)", Complete::kFile).required();
    text("SQL", sql_, "SQL",
         "One SELECT statement; '-' reads it from standard input (default: list the tables)");
    flag("--csv", csv_, "Print CSV with a header line");
    flag("--json", json_, "Print JSON: an array with one object per row");
    flag("--shell", shell_, "Read queries from a prompt or from standard input");
    describe(
        "The dialect is SQLite's. Tables: kernel, copy, fill, sync, host_call, range, counter, "
        "memory_event, flow, device, stream, process, thread and others; span has every row with a "
        "duration, collective has the operations of NCCL and similar libraries. Views like "
        "kernel_summary and launch answer common questions. Times and durations are in ns. The "
        "trace is read-only. Without SQL, lists the tables with their columns.");
    example("tracesmith query trace.sbt", "List tables and columns");
    example(
        "tracesmith query trace.sbt \"SELECT name, count(*), sum(duration_ns) FROM kernel "
        "GROUP BY name ORDER BY 3 DESC\"",
        "Show the time of each kernel");
    example("tracesmith query --csv trace.sbt \"SELECT * FROM copy WHERE bytes > 1e6\" > big.csv",
            "Write large copies as CSV");
    example("tracesmith query --shell trace.sbt", "Start a prompt (.help lists its commands)");
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
    Result<TraceFile> file = readTraceFile(input_);
    if (!file) return failWith(file.error());
    SourceLookup sources(file->reader, file->trace);
    Result<QueryEngine> engine = QueryEngine::open(
        file->trace, [&](TableId table, uint64_t row) { return sources.at(table, row); });
    if (!engine) return failWith(engine.error());
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    const QueryFormat format = csv_    ? QueryFormat::kCsv
                               : json_ ? QueryFormat::kJson
                                       : QueryFormat::kTable;
    Output out = standardOutput();
    if (shell_) {
      const bool prompts = isatty(STDIN_FILENO) != 0 && session.terminal.out_is_terminal;
      const uint64_t failures = QueryShell(*engine, format, style, prompts, out).run(std::cin);
      // A person has seen which statements failed; a script learns it from the exit code.
      const int code = failures > 0 && !prompts ? kExitFailed : kExitOk;
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
    QuerySink sink;
    sink.columns = [&](std::span<const QueryColumn> columns) { answer->columns(columns); };
    sink.row = [&](std::span<const Value> values) {
      answer->row(values);
      return !out.failed();
    };
    const Result<uint64_t> rows = engine->run(sql_, sink);
    if (!rows) {
      (void)out.flush();  // rows printed before the failure
      return failWith(rows.error());
    }
    answer->end();
    return finishOutput(out, reportLosses(file->reader, input_, kExitOk));
  }

 private:
  static constexpr const char* kColumnsOfTables =
      "SELECT table_name, column_name, type, meaning FROM schema";

  std::string input_;
  std::string sql_;
  bool csv_ = false;
  bool json_ = false;
  bool shell_ = false;
};

}  // namespace

std::unique_ptr<Command> makeQueryCommand() { return std::make_unique<QueryCommand>(); }

}  // namespace tracesmith::cli
