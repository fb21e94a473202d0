// SPDX-License-Identifier: Apache-2.0
// Determines which steps of a program must happen before others, whatever the timing: vector clocks
// over chains. A chain is a sequence of steps of which each waits for the previous one: an in-order
// stream, a host thread, or a sequence within an out-of-order stream. An operation comes after
// everything its thread has waited for, its own wait list, and what its stream makes it wait for.
#pragma once

#include <vector>

#include "tracesmith/analysis/races/legal_order.hpp"
#include "tracesmith/analysis/races/vector_clocks.hpp"

namespace tracesmith::races {

class HappensBefore {
 public:
  /// `threads_are_one`: what one thread waited for is known to all threads that make a later call.
  /// Otherwise threads learn about each other only through the device.
  HappensBefore(const Program& program, bool threads_are_one);

  /// Calls visit(id) for each step with accesses, in a legal order; during the call, before()
  /// refers to that step. Returns the number of steps that wait forever.
  template <class Visit>
  StepId forEach(Visit&& visit) {
    return order_.forEach([&](StepId id) { called(id); }, [&](StepId id) { happen(id, visit); });
  }

  /// True if the visited step necessarily comes after `earlier`, which must have been visited
  /// before.
  bool before(StepId earlier) const {
    const Stamp& stamp = stamps_[earlier];
    return stamp.chain == now_stamp_.chain || now_->at(stamp.chain) >= stamp.time;
  }
  /// Chain of a visited step. Steps of one chain are ordered.
  uint32_t chainOf(StepId visited) const { return stamps_[visited].chain; }

 private:
  struct Stamp {
    uint32_t chain = kNone;
    uint32_t time = 0;
  };
  struct Thread {
    Stamp head;
    VectorClock
        known;  // includes its head, because the head changes with whatever the thread learns
  };
  struct Stream {
    VectorClock known;  // in-order stream: what its last step knew
    Stamp head;         // in-order stream: its last step
    // For an out-of-order stream:
    std::vector<uint32_t> chains;
    size_t cursor = 0;  // chains before it are unlikely to be free
    uint32_t all_place = 0;
    VectorClock all;  // all steps before `all_place`
    VectorClock
        start;  // cache: combined knowledge of `start_barrier` and the thread's `start_thread`
    StepId start_barrier = kNone;
    ClockForest::Root start_thread = 0;
  };

  void called(StepId id) {
    if (program_.canStall()) thread_at_call_[id] = forest_.retain(threadOf(id).known.root());
  }
  Thread& threadOf(StepId id) { return threads_[one_thread_ ? 0 : program_.step(id).thread]; }
  template <class Visit>
  void happen(StepId id, Visit&& visit) {
    const bool of_stream = isOfStream(program_.step(id).kind);
    of_stream ? beginOfStream(id) : beginOfThread(id);
    if (!program_.accesses(id).empty()) visit(id);
    end(id);
  }
  void beginOfStream(StepId id);
  void beginOfThread(StepId id);
  void end(StepId id);
  /// Adds to `now` what `other` knew, whose last step has `stamp`. `top`: the step that knew all of
  /// `now`, if any.
  static void merge(VectorClock& now, Stamp& top, const VectorClock& other, Stamp stamp);
  void startInOrder(StepId id, Stream& stream, VectorClock& now);
  void startOutOfOrder(StepId id, Stream& stream, VectorClock& now);
  void joinAllBefore(StepId id, Stream& stream, VectorClock& now);
  uint32_t freeChain(StepId id, Stream& stream, const VectorClock& now);
  void join(VectorClock& now, StepId earlier);
  void waited(StepId earlier);
  void keep(StepId id, const VectorClock& known, bool for_stream);
  void drop(StepId id);
  void learn(Thread& thread, StepId ended);
  uint32_t newChain() {
    chain_ends_.push_back(0);
    return static_cast<uint32_t>(chain_ends_.size() - 1);
  }

  const Program& program_;
  const bool one_thread_;
  LegalOrder order_;
  ClockForest forest_;
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> chain_ends_;  // the time of each chain's last step
  std::vector<Stamp> stamps_;
  // Knowledge of a step, without itself, kept as long as it may be queried.
  std::vector<ClockForest::Root> clocks_;
  std::vector<uint32_t> waits_left_;
  std::vector<bool> kept_by_stream_;
  std::vector<ClockForest::Root> thread_at_call_;  // only where steps can stall
  VectorClock scratch_;
  VectorClock* now_ = nullptr;
  Stamp now_stamp_;
};

}  // namespace tracesmith::races
