// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/runtime_frames.hpp"

#include <optional>
#include <unordered_map>

namespace tracesmith {
namespace {

enum class FrameKind : uint8_t { kOwn, kPython, kTrampoline, kInterpreter, kStarter };

std::string_view fileName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path;
}

/// The rest of `text` after `prefix`, or nothing if it does not start with it.
std::optional<std::string_view> behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

/// "", "3", "3.11", "3.13t", "3.12d": suffix of an interpreter's name.
bool isVersion(std::string_view text) {
  while (!text.empty() && (text.back() == 't' || text.back() == 'd')) text.remove_suffix(1);
  return text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// The C library's functions that call main() and thread functions.
bool startsThreads(std::string_view path) {
  const std::string_view file = fileName(path);
  return file.starts_with("libc.so") || file.starts_with("libpthread.so") ||
         file.starts_with("libc-2.") || file.starts_with("libpthread-2.");
}

std::vector<FrameKind> frameKinds(const Trace& trace) {
  std::unordered_map<StringId, FrameKind> of_module;
  std::vector<FrameKind> kinds(trace.frame.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const StringId module = trace.frame.module[i];
    const std::string_view path = trace.text(module);
    if (path == kPythonModule && trace.frame.address[i] == 0) {
      kinds[i] = FrameKind::kPython;
      continue;
    }
    const auto [it, fresh] = of_module.try_emplace(module, FrameKind::kOwn);
    if (fresh) {
      it->second = isTrampolineModule(path)    ? FrameKind::kTrampoline
                   : isInterpreterModule(path) ? FrameKind::kInterpreter
                   : startsThreads(path)       ? FrameKind::kStarter
                                               : FrameKind::kOwn;
    }
    kinds[i] = it->second;
  }
  return kinds;
}

struct PathKey {
  CallPathId parent{};
  FrameId frame{};
  bool operator==(const PathKey&) const = default;
};
struct PathKeyHash {
  size_t operator()(const PathKey& key) const {
    return static_cast<size_t>(key.parent) * 0x9e3779b97f4a7c15u ^ static_cast<size_t>(key.frame);
  }
};

}  // namespace

bool isTrampolineModule(std::string_view path) {
  const std::string_view file = fileName(path);
  for (const std::string_view name : {"libffi.so", "libffi-", "_ctypes.", "_cffi_backend."}) {
    if (file.starts_with(name)) return true;
  }
  // glibc's loader of each architecture, musl's, and glibc's before 2.34.
  for (const std::string_view name : {"ld-linux", "ld-musl-", "ld64.so", "ld-2.", "ld.so"}) {
    if (file.starts_with(name)) return true;
  }
  return false;
}

bool isInterpreterModule(std::string_view path) {
  const std::string_view file = fileName(path);
  if (const auto rest = behind(file, "libpython")) {
    return isVersion(rest->substr(0, rest->find(".so")));
  }
  const auto rest = behind(file, "python");
  return rest && isVersion(*rest);
}

CallPathTable withoutRuntimeFrames(const Trace& trace) {
  const CallPathTable& paths = trace.call_path;
  const std::vector<FrameKind> kinds = frameKinds(trace);
  const auto kindOf = [&](size_t path) {
    const auto frame = static_cast<size_t>(paths.frame[path]);
    return frame == 0 || frame > kinds.size() ? FrameKind::kOwn : kinds[frame - 1];
  };
  // A path has a higher id than its caller's path; in a damaged trace, a path that does not counts
  // as outermost.
  const auto callerOf = [&](size_t path) {
    const auto caller = static_cast<size_t>(paths.parent[path]);
    return caller <= path ? caller : 0;
  };
  std::vector<bool> python(paths.size());  // on the stack, or on a stack that extends it
  for (size_t i = 0; i < paths.size(); ++i) {
    const size_t caller = callerOf(i);
    python[i] = kindOf(i) == FrameKind::kPython || (caller != 0 && python[caller - 1]);
  }
  for (size_t i = paths.size(); i-- > 0;) {
    const size_t caller = callerOf(i);
    if (caller != 0 && python[i]) python[caller - 1] = true;
  }
  CallPathTable shown = paths;
  std::vector<CallPathId> kept(paths.size());  // the innermost path with a shown frame
  std::unordered_map<PathKey, CallPathId, PathKeyHash> known;
  for (size_t i = 0; i < paths.size(); ++i) {
    const size_t caller = callerOf(i);
    const CallPathId outer = caller == 0 ? CallPathId::kNone : kept[caller - 1];
    const FrameKind kind = kindOf(i);
    const bool hidden = kind == FrameKind::kTrampoline ||
                        (kind == FrameKind::kInterpreter && python[i]) ||
                        // C library functions called by the program itself have shown callers.
                        (kind == FrameKind::kStarter && python[i] && outer == CallPathId::kNone);
    if (!hidden) {
      kept[i] = known.try_emplace({outer, paths.frame[i]}, idAt<CallPathId>(i)).first->second;
      shown.parent[i] = outer;
      continue;
    }
    kept[i] = outer;
    shown.parent[i] = outer == CallPathId::kNone ? outer : shown.parent[indexOf(outer)];
    if (outer != CallPathId::kNone) shown.frame[i] = shown.frame[indexOf(outer)];
  }
  return shown;
}

std::vector<CallPathId> samePaths(const CallPathTable& paths) {
  std::vector<CallPathId> first(paths.size());
  std::unordered_map<PathKey, CallPathId, PathKeyHash> known;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto caller = static_cast<size_t>(paths.parent[i]);
    const CallPathId outer = caller == 0 || caller > i ? paths.parent[i] : first[caller - 1];
    first[i] = known.try_emplace({outer, paths.frame[i]}, idAt<CallPathId>(i)).first->second;
  }
  return first;
}

}  // namespace tracesmith
