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
  SymbolizeCommand() : Command("symbolize", "Name the functions in the call stacks of a trace") {
    text("FILE", input_, "FILE", "The trace (.sbt)", Complete::kFile).required();
    text("-o,--output", output_, "FILE", "Write a trace of its own, and leave FILE as it is",
         Complete::kFile);
    texts("--debug-dir", folders_, "FOLDER",
          "Look for debug information there, too; may be given several times", Complete::kDirectory)
        .oneEach();
    describe(
        "A recorded program writes down only where in which library a call came from. This command "
        "finds out from the libraries and their debug information which functions and lines those "
        "are, and what was inlined there, and puts it into the trace, behind what it has. What has "
        "a name and a line already is left alone, so that the command may be given again when "
        "there is more debug information: better names replace the poorer ones.");
    describe(
        "A library is used when its build-id is the one that was recorded. Debug information may "
        "lie in it, in /usr/lib/debug, or in a folder given with --debug-dir: there by build-id "
        "(FOLDER/.build-id/ab/cdef.debug) or by name. Nothing is fetched from a network.");
    example("tracesmith symbolize trace.sbt", "With what is on this machine");
    example("tracesmith symbolize --debug-dir ./symbols trace.sbt -o named.sbt",
            "With symbols that were kept when the program was built");
  }

  int run(Session&) override {
    // Nothing here asks a server for debug information; should a library below do so, it finds
    // none.
    ::unsetenv("DEBUGINFOD_URLS");
    SymbolizerOptions options;
    options.debug_dirs = folders_;
    const Result<SymbolizedFile> done = symbolizeFile(input_, output_, options);
    if (!done) return failWith(inWordsForPeople(done.error(), input_));
    const SymbolReport& r = done->report;
    say(fmt::format("{}: {} of {} frames got names, {} of them with file and line; {} had theirs",
                    output_.empty() ? input_ : output_, r.named, r.frames, r.with_line,
                    r.had_names));
    for (size_t i = 0; i < r.unnamed.size(); ++i) {
      if (r.unnamed[i] == 0) continue;
      say(fmt::format("{} frames without a name: {}", r.unnamed[i],
                      toString(static_cast<NoSymbol>(i))));
    }
    constexpr size_t kShown = 20;
    size_t told = 0;
    for (const SymbolReport::Module& m : r.modules) {
      if (m.state == NoSymbol::kNone || ++told > kShown) continue;
      say(fmt::format("{}: {} ({} frames)", m.path, toString(m.state), m.frames));
    }
    if (told > kShown) say(fmt::format("and {} more files", told - kShown));
    return done->damaged ? kExitPartlyRead : kExitOk;
  }

 private:
  std::string input_, output_;
  std::vector<std::string> folders_;
};

}  // namespace

std::unique_ptr<Command> makeSymbolizeCommand() { return std::make_unique<SymbolizeCommand>(); }

}  // namespace tracesmith::cli
