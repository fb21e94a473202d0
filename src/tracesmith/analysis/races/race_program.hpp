// SPDX-License-Identifier: Apache-2.0
// The commands of a program, reduced to what matters for races and independent of the vendor: steps
// in call order, what each waits for, and the bytes that it reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tracesmith::races {

using StepId = uint32_t;  ///< index of the step, from 0
constexpr uint32_t kNone = UINT32_MAX;

/// How certain the access is.
enum class Grade : uint8_t {
  kProven,  ///< stated by the command: copies, fills, maps
  /// Stated by a kernel's source or its arguments' qualifiers; perhaps not for each byte.
  kLikely,
  kPossible,  ///< possible because the kernel is unknown
};

enum class StepKind : uint8_t {
  kOperation,  ///< work of a stream
  /// Ends after its wait list, or without one, after everything before it in its stream.
  kMarker,
  kBarrier,       ///< a marker that everything after it in its stream waits for
  kUserEvent,     ///< ends when a kSetUserEvent sets it
  kSetUserEvent,  ///< the thread ends `target`
  /// The thread waits for the wait list, and for everything before it in `stream`, if any.
  kHostWait,
  kHostAccess,  ///< memory access by the thread itself
};

struct Access {
  uint64_t begin = 0;  ///< accesses bytes [begin, end) of `allocation`
  uint64_t end = 0;
  uint32_t allocation = 0;
  bool is_write = false;  ///< an access that reads and writes may be a write only
  Grade grade = Grade::kProven;
};

struct Step {
  StepKind kind = StepKind::kOperation;
  bool blocking = false;    ///< the thread continues when the step has ended
  uint32_t thread = 0;      ///< numbered without gaps
  uint32_t stream = kNone;  ///< numbered without gaps
  StepId target = kNone;    ///< for kSetUserEvent
  uint32_t label = kNone;   ///< meaning defined by the caller; equal labels are the same thing
};

/// Steps with their waits and accesses. A step may wait for a later one.
class Program {
 public:
  uint32_t addStream(bool out_of_order) {
    out_of_order_.push_back(out_of_order);
    return static_cast<uint32_t>(out_of_order_.size() - 1);
  }

  StepId add(const Step& step, std::span<const StepId> waits = {},
             std::span<const Access> accesses = {}) {
    const StepId id = size();
    steps_.push_back(step);
    waits_.insert(waits_.end(), waits.begin(), waits.end());
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
    wait_ends_.push_back(waits_.size());
    access_ends_.push_back(accesses_.size());
    if (step.thread >= threads_) threads_ = step.thread + 1;
    if (step.kind == StepKind::kUserEvent) can_stall_ = true;
    for (const StepId wait : waits) can_stall_ |= wait >= id;
    return id;
  }

  StepId size() const { return static_cast<StepId>(steps_.size()); }
  const Step& step(StepId id) const { return steps_[id]; }
  std::span<const StepId> waits(StepId id) const { return part(waits_, wait_ends_, id); }
  std::span<const Access> accesses(StepId id) const { return part(accesses_, access_ends_, id); }
  uint32_t streams() const { return static_cast<uint32_t>(out_of_order_.size()); }
  bool outOfOrder(uint32_t stream) const { return out_of_order_[stream]; }
  uint32_t threads() const { return threads_; }
  /// True if a step may have to wait for a later one, so that steps do not happen in call order.
  bool canStall() const { return can_stall_; }

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<uint64_t>& ends,
                                 StepId id) {
    const uint64_t begin = id == 0 ? 0 : ends[id - 1];
    return {all.data() + begin, static_cast<size_t>(ends[id] - begin)};
  }

  std::vector<Step> steps_;
  std::vector<StepId> waits_;
  std::vector<Access> accesses_;
  std::vector<uint64_t> wait_ends_;
  std::vector<uint64_t> access_ends_;
  std::vector<bool> out_of_order_;
  uint32_t threads_ = 0;
  bool can_stall_ = false;
};

constexpr bool isOfStream(StepKind kind) {
  return kind == StepKind::kOperation || kind == StepKind::kMarker || kind == StepKind::kBarrier;
}
/// True if the step ends only after everything before it in its stream, whatever the stream's kind.
inline bool endsAfterAll(const Program& program, StepId id) {
  const StepKind kind = program.step(id).kind;
  if (kind == StepKind::kHostWait) return program.step(id).stream != kNone;
  return (kind == StepKind::kMarker || kind == StepKind::kBarrier) && program.waits(id).empty();
}
/// True if the thread makes its next call only after this step has ended.
inline bool holdsThread(const Program& program, StepId id) {
  const Step& step = program.step(id);
  return step.blocking || step.kind == StepKind::kHostWait ||
         (step.kind == StepKind::kHostAccess && !program.waits(id).empty());
}

}  // namespace tracesmith::races
