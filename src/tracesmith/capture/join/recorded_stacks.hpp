// SPDX-License-Identifier: Apache-2.0
// Makes frames and call paths of a trace from the stack records of agents.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/stacks/python/python_runtime.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith {

/// Dictionaries shared by the processes of a session. One place in one file is one frame, at
/// whatever address the file was loaded.
class SharedStacks {
 public:
  FrameId frame(const FrameRow& row, Trace& delta);
  CallPathId path(CallPathId parent, FrameId frame, Trace& delta);
  /// The path up to the innermost frame outside the vendor's libraries; `path` itself when all
  /// frames are the vendor's.
  CallPathId withoutVendorFrames(CallPathId path) const;
  /// Restores the rows that a trace already has.
  void restore(const Trace& file);

 private:
  using FrameKey = std::tuple<StringId, StringId, StringId, uint64_t, uint32_t, StringId, uint32_t>;
  static FrameKey keyOf(const FrameRow& row);
  std::map<FrameKey, FrameId> frames_;
  std::map<std::pair<CallPathId, FrameId>, CallPathId> paths_;
  std::vector<bool> vendors_;  // by frame, from 1: whether it is a vendor's
  std::vector<std::pair<CallPathId, FrameId>> path_rows_;  // by path, from 1
};

/// How complete the stacks of calls are.
struct StackTotals {
  uint64_t calls = 0;
  uint64_t without = 0;         // no stack
  uint64_t too_deep = 0;        // cut at the requested depth
  uint64_t no_information = 0;  // no unwind information for a caller
  uint64_t broken = 0;
  // Python frames that do not match the native ones; they are put before them
  uint64_t not_merged = 0;
};

/// For one process.
class RecordedStacks {
 public:
  RecordedStacks(SharedStacks& shared, Trace& delta, ProcessId process)
      : shared_(shared), delta_(delta), process_(process) {}

  // False when the record is invalid.
  bool addPaths(ByteView record);
  bool addModule(ByteView record);
  bool addPythonCode(ByteView record);
  bool addPythonInterpreter(ByteView record);

  /// The path with this number; none for 0 and for a lost path. The path becomes rows of the trace
  /// on first use.
  CallPathId path(uint32_t number);
  /// The same for a host call, and counts it in totals().
  CallPathId pathOfCall(uint32_t number);
  /// `path` without the vendor's innermost frames.
  CallPathId withoutVendorFrames(CallPathId path) const {
    return shared_.withoutVendorFrames(path);
  }

  void restoreModule(const ModuleRow& row) { modules_[row.begin_address] = row; }
  void restorePath(const ObjectRow& row);
  void restorePythonCode(const ObjectRow& row);

  /// Whether a stack was recorded.
  bool any() const { return !paths_.empty(); }
  const StackTotals& totals() const { return totals_; }

 private:
  struct Path {
    uint32_t parent = 0;
    uint64_t word = 0;
    CallPathId id{};  // none: not used yet
    stacks::WalkEnd end = stacks::WalkEnd::kOutermost;
    bool merged = true;  // the Python frames, if any, are in their correct place
  };
  struct PythonCode {
    StringId name{};
    StringId file{};
    int32_t first_line = 0;
    Bytes line_table;
  };
  FrameRow frameOf(uint64_t word);
  FrameRow pythonFrameOf(uint64_t word);
  Path* resolved(uint32_t number);
  void resolveMerged(Path& path);
  std::vector<uint64_t> wordsOf(uint32_t number) const;

  SharedStacks& shared_;
  Trace& delta_;
  ProcessId process_;
  std::map<uint64_t, ModuleRow> modules_;  // by first address; later ones replace
  std::unordered_map<uint32_t, Path> paths_;
  std::unordered_map<uint32_t, PythonCode> codes_;
  stacks::PythonInterpreter python_;
  StackTotals totals_;
};

}  // namespace tracesmith
