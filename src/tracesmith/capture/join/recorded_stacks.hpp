// SPDX-License-Identifier: Apache-2.0
// Makes frames and call paths of a trace from what agents say of their stacks.
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

/// Dictionaries that the processes of a session share: the same place in the same file is one
/// frame, wherever the file was loaded.
class SharedStacks {
 public:
  FrameId frame(const FrameRow& row, Trace& delta);
  CallPathId path(CallPathId parent, FrameId frame, Trace& delta);
  /// The path up to the innermost frame that is not the vendor's; all of one that has no other.
  CallPathId beyondVendor(CallPathId path) const;
  /// What a trace holds already.
  void restore(const Trace& file);

 private:
  using FrameKey = std::tuple<StringId, StringId, StringId, uint64_t, uint32_t, uint32_t>;
  static FrameKey keyOf(const FrameRow& row);
  std::map<FrameKey, FrameId> frames_;
  std::map<std::pair<CallPathId, FrameId>, CallPathId> paths_;
  std::vector<bool> vendors_;                              // by frame, from 1
  std::vector<std::pair<CallPathId, FrameId>> path_rows_;  // by path, from 1
};

/// How complete the stacks of calls are.
struct StackTotals {
  uint64_t calls = 0;
  uint64_t without = 0;         // no stack at all
  uint64_t too_deep = 0;        // cut at the depth that was asked for
  uint64_t no_information = 0;  // end where nothing is known of the callers
  uint64_t broken = 0;
  uint64_t not_merged = 0;  // Python frames that do not fit the native ones, and come before them
};

/// Of one process.
class RecordedStacks {
 public:
  RecordedStacks(SharedStacks& shared, Trace& delta, ProcessId process)
      : shared_(shared), delta_(delta), process_(process) {}

  // False when the record makes no sense.
  bool addPaths(ByteView record);
  bool addModule(ByteView record);
  bool addPythonCode(ByteView record);
  bool addPythonInterpreter(ByteView record);

  /// The path that has this number; none for 0 and for one that was lost. It becomes rows of the
  /// trace when it is first asked for.
  CallPathId path(uint32_t number);
  /// The same, of a host call, which is counted.
  CallPathId ofCall(uint32_t number);
  /// Either, without the vendor's own frames.
  CallPathId beyondVendor(CallPathId path) const { return shared_.beyondVendor(path); }

  void restoreModule(const ModuleRow& row) { modules_[row.begin_address] = row; }
  void restorePath(const ObjectRow& row);
  void restorePythonCode(const ObjectRow& row);

  /// True once a stack was recorded.
  bool any() const { return !paths_.empty(); }
  const StackTotals& totals() const { return totals_; }

 private:
  struct Path {
    uint32_t parent = 0;
    uint64_t word = 0;
    CallPathId id{};  // none: not asked for so far
    stacks::WalkEnd end = stacks::WalkEnd::kOutermost;
    bool merged = true;  // Python frames, if any, are where they belong
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
  std::map<uint64_t, ModuleRow> modules_;  // by first address; of two at one place the later one
  std::unordered_map<uint32_t, Path> paths_;
  std::unordered_map<uint32_t, PythonCode> codes_;
  stacks::PythonInterpreter python_;
  StackTotals totals_;
};

}  // namespace tracesmith
