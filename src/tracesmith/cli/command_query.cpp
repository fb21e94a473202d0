// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>
#include <iterator>

#include "tracesmith/cli/commands.hpp"
#include "tracesmith/cli/messages.hpp"
#include "tracesmith/cli/query_output.hpp"
#include "tracesmith/cli/standard_output.hpp"
#include "tracesmith/cli/trace_file.hpp"
#include "tracesmith/export/human_units.hpp"
#include "tracesmith/query/catalog.hpp"

namespace tracesmith::cli {
namespace {

class QueryCommand : public Command {
 public:
  QueryCommand() : Command("query", "Ask a trace in SQL") {
    text("FILE", input_, "FILE", "The trace (.sbt)", Complete::kFile)->required();
    text("SQL", sql_, "SQL",
         "One SELECT; '-' reads it from standard input; without it: the tables");
    flag("--csv", csv_, "Bare rows with a header line");
    flag("--json", json_, "An array with an object per row");
    describe(
        "The language is SQLite's, the tables are those of the trace: kernel, copy, fill, sync, "
        "host_call, memory_event, flow, device, stream, process, thread, loss and others. Times "
        "and "
        "durations are in ns. Nothing can be changed. Without SQL, it lists the tables with their "
        "columns.");
    example("tracesmith query trace.sbt", "Which tables and columns are there?");
    example(
        "tracesmith query trace.sbt \"SELECT name, count(*), sum(duration_ns) FROM kernel "
        "GROUP BY name ORDER BY 3 DESC\"",
        "Time by kernel");
    example("tracesmith query --csv trace.sbt \"SELECT * FROM copy WHERE bytes > 1e6\" > big.csv",
            "Large copies for a spreadsheet");
  }

  int run(Session& session) override {
    if (csv_ && json_) {
      return failWith({ErrorCode::kInvalidArgument, "choose one of them", "--csv --json"});
    }
    if (sql_ == "-") {
      sql_.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    }
    Result<TraceFile> file = readTraceFile(input_);
    if (!file) return failWith(file.error());
    Result<QueryEngine> engine = QueryEngine::open(file->trace);
    if (!engine) return failWith(engine.error());
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    const QueryFormat format = csv_    ? QueryFormat::kCsv
                               : json_ ? QueryFormat::kJson
                                       : QueryFormat::kTable;
    Output out = standardOutput();
    if (sql_.empty()) {
      if (format == QueryFormat::kTable) {
        out.write(tablesText(engine->catalog(), style));
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
      (void)out.flush();  // rows that came before the failure
      return failWith(rows.error());
    }
    answer->end();
    return finishOutput(out, reportLosses(file->reader, input_, kExitOk));
  }

 private:
  static constexpr const char* kColumnsOfTables =
      "SELECT table_name, column_name, type, meaning FROM schema";

  static std::string tablesText(const Catalog& catalog, const TerminalStyle& style) {
    std::string text;
    for (const auto& table : catalog.tables()) {
      text += style.bold(table->name()) + "  " +
              style.dim(formatCount(table->rows()) + (table->rows() == 1 ? " row" : " rows")) +
              "\n";
      std::string line = " ";
      for (const auto& column : table->columns()) {
        if (column->hidden()) continue;
        const int width = displayWidth(line) + 1 + displayWidth(column->name());
        if (width > (style.width > 0 ? style.width : 100)) {
          text += line + "\n";
          line = " ";
        }
        line += " " + column->name();
      }
      text += line + "\n";
    }
    return text;
  }

  std::string input_;
  std::string sql_;
  bool csv_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeQueryCommand() { return std::make_unique<QueryCommand>(); }

}  // namespace tracesmith::cli
