// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/format/trace_check.hpp"

namespace tracesmith::cli {
namespace {

class VerifyCommand : public Command {
 public:
  VerifyCommand() : Command("verify", "Check every byte of a trace") {
    text("FILE", input_, "FILE", "Trace (.sbt)", Complete::kFile).required();
    flag("--json", json_, "Print JSON");
    describe(
        "Reads the whole file and checks the checksums, column values and time range of each "
        "block, and the index. The exit code is 0 if the file is intact, 3 if something is damaged "
        "or the end is missing. Each problem is printed with its position.");
    example("tracesmith verify trace.sbt", "Check a trace before archiving it");
  }

  int run(Session&) override {
    const Result<TraceCheck> check = checkTrace(input_);
    if (!check) return failWith(explainError(check.error(), input_));
    Output out = standardOutput();
    if (json_) {
      writeJson(*check, out);
    } else {
      out.write(fmt::format("{}: {}; {} in {} blocks with {} columns and {} rows\n", input_,
                            check->intact() ? "intact" : "not intact", formatBytes(check->bytes),
                            formatCount(check->blocks), formatCount(check->columns),
                            formatCount(check->rows)));
      for (const DataLoss& p : check->problems) {
        out.write(fmt::format("offset {}: {}\n", p.offset, p.reason));
      }
      if (!check->complete) {
        out.write(
            "the end is missing: it is still being written, or its recording was cut short\n");
      }
      for (const DataLoss& s : check->skipped) {
        out.write(fmt::format("offset {}: not checked: {}\n", s.offset, s.reason));
      }
    }
    return finishOutput(out, check->intact() ? kExitOk : kExitPartlyRead);
  }

 private:
  static void writeLocations(JsonWriter& w, const char* key, const std::vector<DataLoss>& places) {
    w.key(key).beginArray();
    for (const DataLoss& p : places) {
      w.beginObject();
      w.key("offset").value(p.offset);
      w.key("bytes").value(p.bytes);
      w.key("reason").value(p.reason);
      w.endObject();
    }
    w.endArray();
  }
  void writeJson(const TraceCheck& check, Output& out) const {
    JsonWriter w(out, 2);
    w.beginObject();
    w.key("file").value(input_);
    w.key("intact").value(check.intact());
    w.key("complete").value(check.complete);
    w.key("bytes").value(check.bytes);
    w.key("blocks").value(check.blocks);
    w.key("columns").value(check.columns);
    w.key("rows").value(check.rows);
    writeLocations(w, "problems", check.problems);
    writeLocations(w, "skipped", check.skipped);
    w.endObject();
    out.put('\n');
  }

  std::string input_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace tracesmith::cli
