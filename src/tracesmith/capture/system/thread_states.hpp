// SPDX-License-Identifier: Apache-2.0
// When threads ran and when they waited, from the switches that the kernel tells.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

/// What the scheduler did with a thread for a while.
struct StateSpan {
  int64_t start_ns = 0, duration_ns = 0;
  uint32_t process = 0, tid = 0, cpu = 0;
  uint32_t path = 0;  ///< of a wait: number of the path where it waited; 0: unknown
  RunState state = RunState::kUnknown;
  std::string instead;  ///< of kRunnable: the program that had the processor before
};

/// Whether a thread in this state waits for something.
constexpr bool isWait(RunState state) { return state >= RunState::kSleeping; }

class ThreadStates {
 public:
  /// `take` gets each state when it ends.
  explicit ThreadStates(std::function<void(StateSpan&&)> take) : take_(std::move(take)) {}
  /// Calls f(process, tid, time) when a thread runs on another processor than before.
  using Migrated = std::function<void(uint32_t, uint32_t, int64_t)>;
  void onMigration(Migrated f) { migrated_ = std::move(f); }

  /// Times of one thread increase; `process` is any number that stands for it.
  void begin(uint32_t process, uint32_t tid, uint32_t cpu, RunState state, int64_t time_ns);
  /// It lost its processor, and is `state` from then on.
  void leave(uint32_t process, uint32_t tid, uint32_t cpu, RunState state, int64_t time_ns);
  /// Its wait ended. False: it did not wait.
  bool wake(uint32_t process, uint32_t tid, int64_t time_ns);
  /// It got a processor, which `before` had until then.
  void enter(uint32_t process, uint32_t tid, uint32_t cpu, int64_t time_ns,
             std::string_view before = {});
  void end(uint32_t process, uint32_t tid, int64_t time_ns);
  /// Those of all threads of a process, but one.
  void endOthers(uint32_t process, uint32_t tid, int64_t time_ns);
  void endProcess(uint32_t process, int64_t time_ns) { endOthers(process, 0, time_ns); }
  /// Records after `known_ns` are missing: until its next switch, what a thread does is unknown.
  void forget(int64_t known_ns) { finish(known_ns); }
  /// Nothing more is recorded. What goes on ends here.
  void finish(int64_t time_ns);

 private:
  struct Open {
    int64_t since_ns;
    uint32_t cpu;
    RunState state;
    bool is_new = false;  ///< it was just started, and has not run yet
  };
  static uint64_t keyOf(uint32_t process, uint32_t tid) { return uint64_t{process} << 32 | tid; }
  void change(uint64_t key, const Open& next, std::string_view before = {});
  void give(uint64_t key, const Open& open, int64_t end_ns, std::string_view before = {}) const;

  std::function<void(StateSpan&&)> take_;
  Migrated migrated_;
  std::unordered_map<uint64_t, Open> open_;
};

}  // namespace tracesmith
