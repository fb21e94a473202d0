// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/stack_lines.hpp"

#include <fmt/format.h>

#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith {

std::vector<std::string> stackLines(const Trace& t, const FrameSymbols& symbols, CallPathId path) {
  std::vector<std::string> lines;
  std::vector<FrameFunction> functions;
  const std::vector<FrameId> frames = framesOf(t, path);
  for (size_t i = frames.size(); i-- > 0;) {
    symbols.functions(frames[i], functions);
    for (const FrameFunction& f : functions) {
      std::string line = symbols.label(frames[i], f);
      if (!f.file.empty()) {
        line +=
            f.line == 0 ? fmt::format("  ({})", f.file) : fmt::format("  ({}:{})", f.file, f.line);
      } else if (!f.function.empty() && &f == &functions.back()) {
        const std::string place = symbols.place(frames[i]);
        if (!place.empty()) line += fmt::format("  ({})", place);
      }
      lines.push_back(printable(line));
    }
  }
  return lines;
}

}  // namespace tracesmith
