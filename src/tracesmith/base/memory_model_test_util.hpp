// SPDX-License-Identifier: Apache-2.0
// Runs a small concurrent program in every way that the C++ memory order allows: every
// interleaving, and for every load every value that it may see.
//
// Threads are fibers that yield before each load or exchange. An atomic keeps all its values in the
// order in which they were stored. Each thread records, per atomic, the oldest value that it may
// still see. A load may return that value or any later one, and acquires what its store has
// released. An exchange takes the newest value.
//
// A store need not yield if only one thread stores: being seen later is equivalent to being stored
// later, because loads may see old values. Plain words must not race: each access must happen after
// the last conflicting access of another thread. Loads never see future stores, as on every real
// machine that keeps a load before a later store that depends on it.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tracesmith::memory_model {

constexpr size_t kThreads = 2;
constexpr uint64_t kMostSteps = 10'000;        // per run
using Clock = std::array<uint32_t, kThreads>;  // vector clock

inline void join(Clock& into, const Clock& other) {
  for (size_t i = 0; i < kThreads; ++i) into[i] = std::max(into[i], other[i]);
}

struct View {
  Clock clock{};
  std::vector<uint32_t> seen;  // per atomic: index of the oldest value that may still be loaded
  void join(const View& other) {
    memory_model::join(clock, other.clock);
    if (seen.size() < other.seen.size()) seen.resize(other.seen.size());
    for (size_t i = 0; i < other.seen.size(); ++i) seen[i] = std::max(seen[i], other.seen[i]);
  }
};

/// Explores all runs of one program.
class Explorer {
 public:
  /// Calls `prepare` and runs the fibers it returns, again and again until all possible runs are
  /// done. Calls `check` after each run. Stops at the first failure.
  struct Program {
    std::array<std::function<void()>, kThreads> threads;
    std::function<void()> check;
  };
  void explore(const std::function<Program()>& prepare, uint64_t max_runs);

  uint64_t runs() const { return runs_; }
  bool complete() const { return complete_; }
  const std::string& failure() const { return failure_; }

  // --- Used by the memory below ----------------------------------------------------------------
  static Explorer& current() { return *current_; }
  /// Outside the fibers (setup, checks) everything is seen in order.
  bool inFiber() const { return running_ >= 0; }
  size_t thread() const { return static_cast<size_t>(running_); }
  View& view() { return views_[thread()]; }
  size_t newLocation() { return locations_++; }
  /// A number in [0, count); over all runs, every one of them.
  size_t choose(size_t count);
  /// Lets another thread run first.
  void giveWay();
  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }

 private:
  struct Choice {
    size_t taken;
    size_t count;
  };
  static void enterFiber();
  bool runOnce(const std::function<Program()>& prepare);

  static inline Explorer* current_ = nullptr;
  std::vector<Choice> choices_;
  size_t depth_ = 0;
  uint64_t runs_ = 0;
  bool complete_ = false;
  std::string failure_;
  std::array<View, kThreads> views_;
  size_t locations_ = 0;
  int running_ = -1;
  Program program_;
  std::array<bool, kThreads> done_{};
  std::array<ucontext_t, kThreads> fibers_{};
  ucontext_t scheduler_{};
  std::array<std::vector<char>, kThreads> stacks_;
};

inline size_t Explorer::choose(size_t count) {
  if (count <= 1) return 0;
  if (depth_ == choices_.size()) choices_.push_back({0, count});
  return choices_[depth_++].taken;
}

inline void Explorer::giveWay() { swapcontext(&fibers_[thread()], &scheduler_); }

inline void Explorer::enterFiber() {
  Explorer& self = current();
  const size_t me = self.thread();
  self.program_.threads[me]();
  self.done_[me] = true;
  swapcontext(&self.fibers_[me], &self.scheduler_);
}

inline bool Explorer::runOnce(const std::function<Program()>& prepare) {
  depth_ = 0;
  locations_ = 0;
  running_ = -1;
  program_ = prepare();
  for (size_t i = 0; i < kThreads; ++i) {
    views_[i] = {};
    views_[i].seen.resize(locations_);
    views_[i].clock[i] = 1;
    done_[i] = false;
    if (stacks_[i].empty()) stacks_[i].resize(64 << 10);
    getcontext(&fibers_[i]);
    fibers_[i].uc_stack.ss_sp = stacks_[i].data();
    fibers_[i].uc_stack.ss_size = stacks_[i].size();
    fibers_[i].uc_link = nullptr;
    makecontext(&fibers_[i], &Explorer::enterFiber, 0);
  }
  for (uint64_t steps = 0;;) {
    std::array<size_t, kThreads> ready{};
    size_t count = 0;
    for (size_t i = 0; i < kThreads; ++i) {
      if (!done_[i]) ready[count++] = i;
    }
    if (count == 0) break;
    if (++steps > kMostSteps) {
      fail("does not end");  // the fibers are not resumed
      running_ = -1;
      return false;
    }
    running_ = static_cast<int>(ready[choose(count)]);
    swapcontext(&scheduler_, &fibers_[thread()]);
  }
  running_ = -1;
  program_.check();
  return failure_.empty();
}

inline void Explorer::explore(const std::function<Program()>& prepare, uint64_t max_runs) {
  current_ = this;
  while (runs_ < max_runs) {
    ++runs_;
    if (!runOnce(prepare)) break;
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().count) {
      choices_.pop_back();
    }
    if (choices_.empty()) {
      complete_ = true;
      break;
    }
    ++choices_.back().taken;
  }
  current_ = nullptr;
}

constexpr bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
constexpr bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

class Atomic {
 public:
  Atomic(uint64_t value = 0)  // NOLINT(google-explicit-constructor): as std::atomic
      : location_(Explorer::current().newLocation()) {
    values_.push_back({value, {}, -1});
  }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  uint64_t load(std::memory_order order) const {
    Explorer& e = Explorer::current();
    if (!e.inFiber()) return values_.back().value;
    if (values_.size() > 1 && onlyMine()) return values_.back().value;
    e.giveWay();
    uint32_t& seen = e.view().seen[location_];
    seen += static_cast<uint32_t>(e.choose(values_.size() - seen));
    if (acquires(order)) e.view().join(values_[seen].released);
    return values_[e.view().seen[location_]].value;
  }

  void store(uint64_t value, std::memory_order order) {
    Explorer& e = Explorer::current();
    if (!e.inFiber()) {
      values_.back().value = value;
      return;
    }
    if (!onlyMine()) e.giveWay();
    append(value, order, {});
  }

  bool compare_exchange_strong(uint64_t& expected, uint64_t desired, std::memory_order success,
                               std::memory_order failure) {
    Explorer& e = Explorer::current();
    if (!e.inFiber()) {
      if (values_.back().value != expected) {
        expected = values_.back().value;
        return false;
      }
      values_.back().value = desired;
      return true;
    }
    e.giveWay();
    if (values_.back().value == expected) {
      const View before = values_.back().released;  // continues a release sequence
      e.view().seen[location_] = static_cast<uint32_t>(values_.size() - 1);
      if (acquires(success)) e.view().join(before);
      append(desired, success, before);
      return true;
    }
    // A failing exchange is a load of any visible value other than the expected one.
    uint32_t& seen = e.view().seen[location_];
    std::vector<uint32_t> others;
    for (uint32_t i = seen; i < values_.size(); ++i) {
      if (values_[i].value != expected) others.push_back(i);
    }
    seen = others[e.choose(others.size())];
    if (acquires(failure)) e.view().join(values_[seen].released);
    expected = values_[e.view().seen[location_]].value;
    return false;
  }

 private:
  struct Value {
    uint64_t value;
    View released;
    int writer;
  };
  /// No other thread has ever stored here.
  bool onlyMine() const {
    const auto me = static_cast<int>(Explorer::current().thread());
    return std::all_of(values_.begin(), values_.end(),
                       [&](const Value& v) { return v.writer == me || v.writer < 0; });
  }
  void append(uint64_t value, std::memory_order order, View released) {
    Explorer& e = Explorer::current();
    View& view = e.view();
    view.seen[location_] = static_cast<uint32_t>(values_.size());
    if (releases(order)) {
      released.join(view);
      ++view.clock[e.thread()];
    }
    values_.push_back({value, std::move(released), static_cast<int>(e.thread())});
  }

  size_t location_;
  std::vector<Value> values_;
};

/// A word that is accessed plainly (races are then failures) or as an atomic.
class Word {
 public:
  uint64_t loadPlain() const {
    Explorer& e = Explorer::current();
    if (e.inFiber()) {
      if (writer_ >= 0 && !happened(writer_, write_time_)) e.fail("a plain load races a store");
      reads_[e.thread()] = e.view().clock[e.thread()];
    }
    return plain_;
  }
  void storePlain(uint64_t value) {
    Explorer& e = Explorer::current();
    if (e.inFiber()) {
      if (writer_ >= 0 && !happened(writer_, write_time_)) e.fail("plain stores race");
      for (size_t i = 0; i < kThreads; ++i) {
        if (!happened(static_cast<int>(i), reads_[i])) e.fail("a plain store races a load");
      }
      writer_ = static_cast<int>(e.thread());
      write_time_ = e.view().clock[e.thread()];
    }
    plain_ = value;
  }
  uint64_t load(std::memory_order order) const { return atomic_.load(order); }
  void store(uint64_t value, std::memory_order order) { atomic_.store(value, order); }

 private:
  /// The thread's own accesses have happened; another thread's, if its time is in this clock.
  static bool happened(int thread, uint32_t time) {
    Explorer& e = Explorer::current();
    return thread == static_cast<int>(e.thread()) ||
           time <= e.view().clock[static_cast<size_t>(thread)];
  }
  uint64_t plain_ = 0;
  int writer_ = -1;
  uint32_t write_time_ = 0;
  mutable std::array<uint32_t, kThreads> reads_{};
  mutable Atomic atomic_;
};

}  // namespace tracesmith::memory_model
