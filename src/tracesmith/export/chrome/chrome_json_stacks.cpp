// SPDX-License-Identifier: Apache-2.0
// Writes host call stacks. "sf" of an event is the number of its call path. "stackFrames" holds the
// frames of all used paths, once for all events. If a path's frame has inlined functions, the
// innermost function gets the path's number; the functions around it are "12.1", "12.2", ...
#include <fmt/format.h>

#include "tracesmith/export/chrome/chrome_json_encoder.hpp"
#include "tracesmith/model/frame_symbols.hpp"

namespace tracesmith {
namespace {

std::string frameKey(size_t path, size_t function) {
  return function == 0 ? fmt::format("{}", path) : fmt::format("{}.{}", path, function);
}

/// Includes the location of the function, because viewers only show the name.
std::string frameName(const FrameSymbols& symbols, FrameId frame, const FrameFunction& function) {
  std::string name = symbols.label(frame, function);
  if (name.empty()) name = "unknown";
  if (function.file.empty()) return name;
  return function.line == 0 ? fmt::format("{} ({})", name, function.file)
                            : fmt::format("{} ({}:{})", name, function.file, function.line);
}

}  // namespace

void ChromeJsonEncoder::writeStack(JsonEvent& e, CallPathId path) {
  const CallPathTable& paths = shownPaths();
  const auto number = static_cast<size_t>(path);
  if (number == 0 || number > paths.size()) return;
  path_used_.resize(paths.size());
  for (size_t i = number; i != 0 && i <= paths.size() && !path_used_[i - 1];
       i = static_cast<size_t>(paths.parent[i - 1])) {
    path_used_[i - 1] = true;
  }
  e.number(",\"sf\":", number);
}

void ChromeJsonEncoder::writeStackFrames() {
  if (path_used_.empty()) return;
  const FrameSymbols symbols(trace_);
  const CallPathTable& paths = shownPaths();
  std::vector<FrameFunction> functions;
  JsonWriter json(out_);
  out_.write(",\"stackFrames\":");
  json.beginObject();
  for (size_t i = 0; i < paths.size() && !out_.failed(); ++i) {
    if (!path_used_[i]) continue;
    const FrameId frame = paths.frame[i];
    symbols.functions(frame, functions);
    if (functions.empty()) functions.emplace_back();
    std::string_view module;
    if (const auto f = static_cast<size_t>(frame); f != 0 && f <= trace_.frame.size()) {
      module = trace_.text(trace_.frame.module[f - 1]);
      module.remove_prefix(module.rfind('/') + 1);  // npos + 1 is 0
    }
    // A path's number is above that of its caller; a damaged trace could contain a cycle.
    const auto caller = static_cast<size_t>(paths.parent[i]);
    for (size_t k = 0; k < functions.size(); ++k) {
      json.key(frameKey(i + 1, k)).beginObject();
      json.field("name", frameName(symbols, frame, functions[k]));
      if (!module.empty()) json.field("category", module);
      if (k + 1 < functions.size()) {
        json.field("parent", frameKey(i + 1, k + 1));
      } else if (caller <= i && caller != 0) {
        json.field("parent", frameKey(caller, 0));
      }
      json.endObject();
    }
  }
  json.endObject();
}

}  // namespace tracesmith
