// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/stacks/symbols/symbolized_file.hpp"

namespace tracesmith::cli {
namespace {

class SymbolizeCommand : public Command {
 public:
  SymbolizeCommand() : Command("symbolize", "Add function names to the call stacks of a trace") {
    text("FILE", input_, "FILE", "Trace (.sbt)", Complete::kFile).required();
    text("-o,--output", output_, "FILE", "Write a new trace instead of changing FILE",
         Complete::kFile);
    texts("--debug-dir", folders_, "FOLDER", "Search debug information there, too; can be repeated",
          Complete::kDirectory)
        .oneEach();
    describe(
        "A recorded program stores only the library and offset of each call. This command looks up "
        "functions, lines and inlined functions in the libraries and their debug information, and "
        "appends them to the trace. Frames with a name and a line are kept. Run it again when more "
        "debug information is available: better names replace poorer ones.");
    describe(
        "A library is used only if its build-id matches the recorded one. Debug information is "
        "searched in the library, in /usr/lib/debug, and in folders given with --debug-dir, by "
        "build-id (FOLDER/.build-id/ab/cdef.debug) or by name. Nothing is fetched from a network.");
    example("tracesmith symbolize trace.sbt", "Use the debug information of this machine");
    example("tracesmith symbolize --debug-dir ./symbols trace.sbt -o named.sbt",
            "Use symbols that were kept when the program was built");
  }

  int run(Session&) override {
    // TraceSmith never asks a server for debug information. If a library below would, it finds no
    // server.
    ::unsetenv("DEBUGINFOD_URLS");
    SymbolizerOptions options;
    options.debug_dirs = folders_;
    const Result<SymbolizedFile> done = symbolizeFile(input_, output_, options);
    if (!done) return failWith(explainError(done.error(), input_));
    const SymbolReport& r = done->report;
    say(fmt::format(
        "{}: {} of {} frames got names, {} of them with file and line; {} already had one",
        output_.empty() ? input_ : output_, r.named, r.frames, r.with_line, r.had_names));
    for (size_t i = 0; i < r.unnamed.size(); ++i) {
      if (r.unnamed[i] == 0) continue;
      say(fmt::format("{} frames without a name: {}", r.unnamed[i],
                      toString(static_cast<NoSymbol>(i))));
    }
    constexpr size_t kShown = 20;
    size_t shown = 0;
    for (const SymbolReport::Module& m : r.modules) {
      if (m.state == NoSymbol::kNone || ++shown > kShown) continue;
      say(fmt::format("{}: {} ({} frames)", m.path, toString(m.state), m.frames));
    }
    if (shown > kShown) say(fmt::format("and {} more files", shown - kShown));
    return done->damaged ? kExitPartlyRead : kExitOk;
  }

 private:
  std::string input_, output_;
  std::vector<std::string> folders_;
};

}  // namespace

std::unique_ptr<Command> makeSymbolizeCommand() { return std::make_unique<SymbolizeCommand>(); }

}  // namespace tracesmith::cli
