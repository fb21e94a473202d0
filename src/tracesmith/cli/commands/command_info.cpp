// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/recording_view.hpp"
#include "tracesmith/cli/views/this_system.hpp"
#include "tracesmith/export/text/terminal_info.hpp"

namespace tracesmith::cli {
namespace {

class InfoCommand : public Command {
 public:
  InfoCommand() : Command("info", "Describe a trace, a recording or this system") {
    text("FILE", input_, "FILE", "Trace (.sbt) or recording (.sbr); default: this system",
         Complete::kFile);
    flag("--columns", columns_, "Show bytes and encoding of every column, not only of tables");
    flag("--json", json_, "Print JSON");
    describe(
        "For a trace: processes, devices, clocks with their error bounds, the number of events of "
        "each kind, losses, and the size of each table. For this system: clocks, agents, and the "
        "devices of each backend.");
    example("tracesmith info trace.sbt", "Describe a trace");
    example("tracesmith info trace.sbr", "Describe a recording for replay");
    example("tracesmith info", "Show what can be recorded on this system");
  }

  int run(Session& session) override {
    if (input_.empty()) return system(session);
    return input_.ends_with(".sbr") ? recording() : trace(session);
  }

 private:
  int recording() {
    auto reader = RecordingReader::open(input_);
    if (!reader) return failWith(reader.error());
    Output out = standardOutput();
    const Status described = describeRecording(*reader, json_, out);
    if (!described) return failWith(described.error());
    for (const DataLoss& loss : reader->losses()) {
      sayWarning(
          fmt::format("{} at byte {}: {} bytes: {}", input_, loss.offset, loss.bytes, loss.reason));
    }
    return finishOutput(out,
                        reader->complete() && reader->losses().empty() ? kExitOk : kExitPartlyRead);
  }

  int trace(Session& session) {
    Result<TraceFile> file = readTraceFile(input_);
    if (!file && file.error().code == ErrorCode::kNoSpace) {
      // The content can be described without reading the events, but not whether they are readable.
      sayWarning(file.error().toString());
      file = readTraceFile(input_, {.tables = {TableId::kLoss}});
    }
    if (!file) return failWith(file.error());
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    Output out = standardOutput();
    describeTrace(file->trace, file->reader, input_, {.columns = columns_, .json = json_}, style,
                  out);
    int code = kExitOk;
    if (!json_ && file->reader.rows(TableId::kRecordedCommand) > 0) {
      out.put('\n');
      code = recordingIn(*file, out);
    }
    return finishOutput(out, reportLosses(file->reader, input_, code));
  }

  /// A trace may also contain its recording (export --with-recording).
  int recordingIn(const TraceFile& file, Output& out) {
    auto reader = RecordingReader::open(input_);
    if (!reader) return failWith(reader.error());
    if (const Status described = describeRecording(*reader, false, out); !described) {
      return failWith(described.error());
    }
    const std::vector<DataLoss> losses = furtherLosses(reader->losses(), file.reader);
    for (const DataLoss& loss : losses) {
      sayWarning(
          fmt::format("{} at byte {}: {} bytes: {}", input_, loss.offset, loss.bytes, loss.reason));
    }
    return losses.empty() ? kExitOk : kExitPartlyRead;
  }

  int system(Session& session) {
    if (columns_) {
      return failWith({ErrorCode::kInvalidArgument, "needs a trace", "--columns"});
    }
    Output out = standardOutput();
    if (const Status described = describeThisSystem(json_, session.terminal.colour, out);
        !described) {
      return failWith(described.error());
    }
    return finishOutput(out, kExitOk);
  }

  std::string input_;
  bool columns_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeInfoCommand() { return std::make_unique<InfoCommand>(); }

}  // namespace tracesmith::cli
