// SPDX-License-Identifier: Apache-2.0
// The device work of a trace in the order of time, read block by block: what DeviceOps has of a
// trace in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/analysis/streaming/launch_times.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_scan.hpp"

namespace tracesmith {

struct StreamedOp {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t launch_ns = LaunchTimes::kNone;      ///< start of the host call
  int64_t launch_end_ns = LaunchTimes::kNone;  ///< its end, if ends are kept
  uint64_t place = 0;                          ///< table, then row: the order of equal starts
  uint64_t bytes = 0;                          ///< of copies and fills
  StringId name{};                             ///< of kernels
  StreamId stream{};
  ProcessId process{};
  TableId table{};
  CopyKind copy_kind{};
  WorkClass work{};

  bool operator<(const StreamedOp& other) const {
    return begin_ns != other.begin_ns ? begin_ns < other.begin_ns : place < other.place;
  }
};

/// Merges sorted runs of work. Ops before a time are final once no later run has one.
class OpMerger {
 public:
  void add(std::vector<StreamedOp>&& sorted);
  /// Calls f(op) for all ops that start before `time`, in order.
  template <class F>
  void takeBefore(int64_t time, F&& f) {
    while (!heads_.empty()) {
      const Head head = heads_.top();
      Run& run = runs_[head.run];
      if (head.op.begin_ns >= time) return;
      heads_.pop();
      // As long as this run has the earliest op, there is no need for the queue.
      const bool is_last = heads_.empty();
      do {
        f(run.ops[run.next++]);
      } while (run.next < run.ops.size() && run.ops[run.next].begin_ns < time &&
               (is_last || run.ops[run.next] < heads_.top().op));
      if (run.next < run.ops.size()) {
        heads_.push({run.ops[run.next], head.run});
      } else {
        release(run);
        free_.push_back(head.run);
      }
    }
  }
  template <class F>
  void takeAll(F&& f) {
    takeBefore(INT64_MAX, f);
  }

 private:
  struct Run {
    std::vector<StreamedOp> ops;
    size_t next = 0;
  };
  /// Keeps its memory for a later run, maybe of another file.
  static void release(Run& run);

  struct Head {
    StreamedOp op;
    uint32_t run = 0;
    bool operator<(const Head& other) const { return other.op < op; }  // the earliest on top
  };
  std::vector<Run> runs_;
  std::vector<uint32_t> free_;
  std::priority_queue<Head> heads_;
};

/// How a pass over device work ended.
enum class StreamEnd : uint8_t {
  kComplete,
  /// Correlation ids repeat, or a block has rows outside of the time that it states: only the trace
  /// as a whole says which call launched what, or what came first.
  kNeedsWholeTrace,
};

/// The rows of one block, the ops that they are, and the thread that has read them, from 0 on.
struct WorkBlock {
  const Trace& rows;
  std::span<const StreamedOp> ops;
  unsigned thread = 0;
};

/// Calls on_op(op) for each kernel, copy and fill that has device times, by start; on_block, which
/// may be empty, before that for each block, on several threads at once. Launches are those of
/// `launches`.
Result<StreamEnd> streamDeviceOps(TraceScan& scan, const LaunchTimes& launches,
                                  const std::function<void(const WorkBlock&)>& on_block,
                                  const std::function<void(const StreamedOp&)>& on_op);

/// The times of all host calls.
Result<LaunchTimes> readLaunchTimes(TraceScan& scan, bool keeps_ends = false);

/// The same form of one op of a trace in memory.
StreamedOp streamedOpOf(const Trace& trace, const DeviceOps& ops, const DeviceOp& op);

/// The same ops of a trace in memory.
std::vector<StreamedOp> streamedOpsOf(const Trace& trace, const DeviceOps& ops);

}  // namespace tracesmith
