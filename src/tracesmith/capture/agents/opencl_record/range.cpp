// SPDX-License-Identifier: Apache-2.0
// Parts of a program's run: commands of queues are recorded from a RangeEdge to the next. Before
// the first, everything is finished and all memory is taken, so that a range replays without its
// past. The tool has checked what the user wrote; here it comes as "KIND FIRST LAST".
#include <regex.h>
#include <stdio.h>

#include "tracesmith/capture/agents/opencl_record/locks.hpp"
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace rec = tracesmith::recording;

namespace tracesmith::record {
namespace {

enum class RangeKind : uint8_t { kAll, kTime, kLaunch, kKernel, kStep, kTrigger };

struct Range {
  RangeKind kind = RangeKind::kAll;
  int64_t first = 0;
  int64_t last = 0;
  regex_t pattern{};
  bool has_pattern = false;
  std::atomic<uint64_t> steps{0};    // ended so far
  std::atomic<bool> in_step{false};  // something was launched since the last end
  std::atomic<bool> inside{false};
  std::atomic<bool> over{false};
};
constinit Range g_range;  // preloaded, we enter before other constructors run

uint64_t launches() { return header()->launches.load(std::memory_order_relaxed); }

void edge(bool begin) {
  rec::RangeEdge c;
  c.is_begin = begin ? 1 : 0;
  c.launches = launches();
  const int64_t now = nowNs();
  put(c, {now, now, 0, rec::command_flags::kMadeUp});
  g_range.inside.store(begin, std::memory_order_relaxed);
  header()->in_range.store(begin ? 1 : 0, std::memory_order_relaxed);
}

/// True when the range covers what is about to be called.
bool covers(QueueCall what, cl_kernel kernel) {
  const Range& r = g_range;
  switch (r.kind) {
    case RangeKind::kAll:
      return true;
    case RangeKind::kTime: {
      const int64_t now = nowNs();
      return now >= r.first && now < r.last;
    }
    case RangeKind::kLaunch: {
      const auto next = static_cast<int64_t>(launches()) + 1;
      // What comes between the last launch and the next belongs to the last.
      if (what == QueueCall::kLaunch) return next >= r.first && next <= r.last;
      return next > r.first && next <= r.last + 1;
    }
    case RangeKind::kKernel: {
      if (what != QueueCall::kLaunch) return r.inside.load(std::memory_order_relaxed);
      StateLock lock;
      const KernelState* state = g_objects.kernels.find(handleOf(kernel));
      return state != nullptr && state->wanted;
    }
    case RangeKind::kStep: {
      const auto step = static_cast<int64_t>(r.steps.load(std::memory_order_relaxed)) + 1;
      return step >= r.first && step <= r.last;
    }
    case RangeKind::kTrigger:
      return (header()->trigger.load(std::memory_order_relaxed) & 1) != 0;
  }
  return true;
}

/// Held by the thread that begins a range. One that left by siglongjmp() gives it back at its next
/// call; from one that makes none, or has ended, it is taken after so long.
constinit OrderLock g_beginning;
constexpr int64_t kBeginningPatienceNs = 60'000'000'000;

// A range begins when queues are idle and all memory has been read. A command that is not recorded
// must have changed memory by then, or it would be in neither: the order lock alone does not see to
// that, for calls that wait give it up, and it is taken over from calls that take long.
//
//   a command                                  who begins
//   counts itself in g_unrecorded,             sets g_step to kTaking,
//   looks at g_step: kNone, or it waits        looks at g_unrecorded: waits until it is 0
//
// A callback cannot wait, so it notes that it went by (g_intruders), and the range begins later.

enum class BeginStep : uint32_t { kNone, kTaking, kClosing };
std::atomic<BeginStep> g_step{BeginStep::kNone};
std::atomic<uint32_t> g_intruders{0};

/// Commands that are in no range, and how many of them were waited for in vain: they take long, or
/// their threads have ended in the call, or left it by siglongjmp(). One of these that ends after
/// all knows by the number of the wait that it was given up.
struct alignas(8) Unrecorded {  // as one word, without a library for it
  uint32_t commands = 0;
  uint16_t given_up = 0;
  uint16_t wait = 0;
};
static_assert(sizeof(Unrecorded) == 8);
std::atomic<Unrecorded> g_unrecorded{Unrecorded{}};
static_assert(std::atomic<Unrecorded>::is_always_lock_free);
constexpr int64_t kUnrecordedPatienceNs = 1'000'000'000;

template <class Change>
void changeUnrecorded(Change&& change) {
  Unrecorded now = g_unrecorded.load();
  Unrecorded then;
  do {
    then = now;
    change(then);
  } while (!g_unrecorded.compare_exchange_weak(now, then));
}

uint16_t beginUnrecorded() {
  uint16_t wait = 0;
  changeUnrecorded([&](Unrecorded& u) {
    ++u.commands;
    wait = u.wait;
  });
  return wait;
}

void endUnrecorded(uint16_t wait) {
  changeUnrecorded([&](Unrecorded& u) {
    --u.commands;
    if (u.wait != wait && u.given_up > 0) --u.given_up;
  });
}

void waitForUnrecorded() {
  const int64_t until = nowNs() + kUnrecordedPatienceNs;
  // The thread's own are among those that were given up, once there are such.
  const uint32_t own = t_state.unrecorded;
  for (Unrecorded u = g_unrecorded.load(); u.commands > u.given_up && u.commands > own;
       u = g_unrecorded.load()) {
    if (nowNs() > until) {
      changeUnrecorded([](Unrecorded& given) {
        given.given_up = static_cast<uint16_t>(given.commands);
        ++given.wait;
      });
      return;
    }
    pauseNs(50'000);
  }
}

/// All memory has been taken: the range begins with what comes next. False: a callback's command
/// went by meanwhile.
bool closeBeginning(uint32_t intruders) {
  const uint64_t signals = Signals::block();  // whoever comes now waits
  g_step.store(BeginStep::kClosing);
  // Another thread may have taken over and begun it.
  const bool whole =
      g_intruders.load() == intruders && !g_range.inside.load(std::memory_order_relaxed);
  if (whole) edge(true);
  g_step.store(BeginStep::kNone);
  Signals::restore(signals);
  return whole;
}

/// False while the state cannot be taken: the next call tries again.
///
/// Others have not waited for the order lock for long: they wait here, until the range has begun.
/// Not in a callback, which the queue that is being finished may be waiting for, or which runs in
/// the very thread that begins.
bool beginRange() {
  if (t_state.in_callback) {
    // Nor does a range begin within a command of its thread that is in none.
    if (t_state.unrecorded != 0 || !g_beginning.tryLock(t_state.tid)) return false;
  } else {
    g_beginning.lock(t_state.tid, kBeginningPatienceNs);
  }
  t_state.beginning = true;
  t_state.was_in_callback = t_state.in_callback;
  t_state.in_callback = true;  // whatever comes back at us
  bool begun = g_range.inside.load(std::memory_order_relaxed);
  if (!begun) {
    const uint32_t intruders = g_intruders.load();
    g_step.store(BeginStep::kTaking);
    waitForUnrecorded();
    if (finishQueues()) {
      settle();
      snapshotAll();
      begun = closeBeginning(intruders);
    }
    begun = begun || g_range.inside.load(std::memory_order_relaxed);
  }
  leaveBeginning();
  return begun;
}

/// Of a command that has counted itself. False: a range is beginning, and it must ask again.
bool mayGoBy() {
  BeginStep step = g_step.load();
  if (step == BeginStep::kNone) return true;
  if (!t_state.in_callback) return false;
  g_intruders.fetch_add(1);
  return g_step.load() != BeginStep::kClosing;
}

void waitForBeginning() {
  if (t_state.in_callback) {
    while (g_step.load() == BeginStep::kClosing) pauseNs(50'000);
    return;
  }
  g_beginning.lock(t_state.tid, kBeginningPatienceNs);
  g_step.store(BeginStep::kNone);  // of whom it was taken from
  g_beginning.unlock(t_state.tid);
}

}  // namespace

void leaveBeginning() {
  g_step.store(BeginStep::kNone);
  t_state.in_callback = t_state.was_in_callback;
  t_state.beginning = false;
  g_beginning.unlock(t_state.tid);
}

bool readRange() {
  const char* text = options().range;
  Range& r = g_range;
  long long first = 0;
  long long last = 0;
  if (text[0] == 0) return true;
  if (sscanf(text, "time %lld %lld", &first, &last) == 2) {
    r.kind = RangeKind::kTime;
  } else if (sscanf(text, "launch %lld %lld", &first, &last) == 2) {
    r.kind = RangeKind::kLaunch;
  } else if (sscanf(text, "step %lld %lld", &first, &last) == 2) {
    r.kind = RangeKind::kStep;
  } else if (strncmp(text, "kernel ", 7) == 0) {
    r.kind = RangeKind::kKernel;
    r.has_pattern = regcomp(&r.pattern, text + 7, REG_EXTENDED | REG_NOSUB) == 0;
    if (!r.has_pattern) return false;
  } else if (strcmp(text, "trigger") == 0) {
    r.kind = RangeKind::kTrigger;
  } else {
    return false;
  }
  r.first = first;
  r.last = last;
  return true;
}

bool kernelIsWanted(const char* name) {
  return g_range.has_pattern && regexec(&g_range.pattern, name, 0, nullptr, 0) == 0;
}

bool inRange(QueueCall what, cl_kernel kernel) {
  Range& r = g_range;
  if (r.kind == RangeKind::kAll) return true;
  if (t_state.quiet) return false;
  if (what == QueueCall::kLaunch) r.in_step.store(true, std::memory_order_relaxed);
  if (r.over.load(std::memory_order_relaxed)) return false;
  const bool wanted = covers(what, kernel);
  const bool inside = r.inside.load(std::memory_order_relaxed);
  if (wanted && !inside) return beginRange();
  if (!wanted && inside) {
    edge(false);
    if (r.kind == RangeKind::kTime || r.kind == RangeKind::kLaunch || r.kind == RangeKind::kStep) {
      r.over.store(true, std::memory_order_relaxed);
    }
  }
  return wanted;
}

RangeCall::RangeCall(QueueCall what, cl_kernel kernel) {
  for (;;) {
    recorded_ = inRange(what, kernel);
    if (recorded_ || g_range.kind == RangeKind::kAll || t_state.quiet) return;
    wait_ = beginUnrecorded();
    if (mayGoBy()) break;
    endUnrecorded(wait_);
    waitForBeginning();
  }
  counted_ = true;
  ++t_state.unrecorded;
}

RangeCall::~RangeCall() {
  if (!counted_) return;
  --t_state.unrecorded;
  endUnrecorded(wait_);
}

void afterLaunch(cl_command_queue queue, cl_kernel kernel, uint64_t sequence, bool success) {
  if (!success) return;
  header()->launches.fetch_add(1, std::memory_order_relaxed);
  if (sequence != kNotRecorded && options().launch_hashes) {
    snapshotArguments(kernel, queue, sequence + 1);
  }
}

bool inRangeNow() {
  return g_range.kind == RangeKind::kAll || g_range.inside.load(std::memory_order_relaxed);
}

void noteSync() {
  Range& r = g_range;
  if (r.kind != RangeKind::kStep) return;
  if (r.in_step.exchange(false, std::memory_order_relaxed)) {
    r.steps.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace tracesmith::record
