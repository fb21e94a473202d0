// SPDX-License-Identifier: Apache-2.0
// Ranges of a program's run: commands of queues are recorded from one RangeEdge to the next. Before
// the first RangeEdge, all commands are finished and all memory is recorded, so that a range can be
// replayed without its past. The tool has validated the user's option and passes it as "KIND FIRST
// LAST".
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
  std::atomic<bool> in_step{false};  // something was launched since the last step ended
  std::atomic<bool> inside{false};
  std::atomic<bool> over{false};
};
constinit Range g_range;  // preloaded, the agent runs before other constructors

uint64_t launches() { return header()->launches.load(std::memory_order_relaxed); }

void edge(bool begin) {
  rec::RangeEdge c;
  c.is_begin = begin ? 1 : 0;
  c.launches = launches();
  const int64_t now = nowNs();
  put(c, {now, now, 0, rec::command_flags::kAddedByAgent});
  g_range.inside.store(begin, std::memory_order_relaxed);
  header()->in_range.store(begin ? 1 : 0, std::memory_order_relaxed);
}

/// True if the range covers the next call.
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
      // Calls between two launches belong to the earlier launch.
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

/// Held by the thread that starts a range. If that thread left by siglongjmp(), it releases the
/// lock at its next call. If it makes no more calls, or has ended, others take the lock over after
/// this time.
constinit OrderLock g_beginning;
constexpr int64_t kBeginningPatienceNs = 60'000'000'000;

// A range starts when the queues are idle and all memory has been read. A command that is not
// recorded must have changed memory before that, or its effect would be in neither the snapshot nor
// the range. The order lock alone does not guarantee this: calls that wait release it, and it is
// taken over from calls that take long.
//
//   a command                                  the thread that starts a range
//   counts itself in g_unrecorded,             sets g_step to kTaking,
//   checks that g_step is kNone, or waits      waits until g_unrecorded is 0
//
// A callback cannot wait. It counts itself in g_intruders instead, and the range starts later.

enum class BeginStep : uint32_t { kNone, kTaking, kClosing };
std::atomic<BeginStep> g_step{BeginStep::kNone};
std::atomic<uint32_t> g_intruders{0};

/// Number of running commands outside of any range, and how many of them have been given up after a
/// wait: they take long, or their threads have ended in the call or left it by siglongjmp(). If a
/// command ends after all, it can tell from the number of the wait whether it was given up.
struct alignas(8) Unrecorded {  // one word, so that no atomic library is needed
  uint32_t commands = 0;
  uint16_t given_up = 0;
  uint16_t wait = 0;
};
static_assert(sizeof(Unrecorded) == 8);
std::atomic<Unrecorded> g_unrecorded{Unrecorded{}};
static_assert(std::atomic<Unrecorded>::is_always_lock_free);
constexpr int64_t kUnrecordedPatienceNs = 1'000'000'000;

template <class Change>
void updateUnrecorded(Change&& change) {
  Unrecorded now = g_unrecorded.load();
  Unrecorded then;
  do {
    then = now;
    change(then);
  } while (!g_unrecorded.compare_exchange_weak(now, then));
}

uint16_t beginUnrecorded() {
  uint16_t wait = 0;
  updateUnrecorded([&](Unrecorded& u) {
    ++u.commands;
    wait = u.wait;
  });
  return wait;
}

void endUnrecorded(uint16_t wait) {
  updateUnrecorded([&](Unrecorded& u) {
    --u.commands;
    if (u.wait != wait && u.given_up > 0) --u.given_up;
  });
}

void waitForUnrecorded() {
  const int64_t until = nowNs() + kUnrecordedPatienceNs;
  // The thread's own commands are among those given up, if there are any.
  const uint32_t own = t_state.unrecorded;
  for (Unrecorded u = g_unrecorded.load(); u.commands > u.given_up && u.commands > own;
       u = g_unrecorded.load()) {
    if (nowNs() > until) {
      updateUnrecorded([](Unrecorded& given) {
        given.given_up = static_cast<uint16_t>(given.commands);
        ++given.wait;
      });
      return;
    }
    pauseNs(50'000);
  }
}

/// All memory has been read: the range starts with the next command. False: a command of a callback
/// ran meanwhile.
bool finishRangeStart(uint32_t intruders) {
  const uint64_t signals = Signals::block();  // other threads wait from here on
  g_step.store(BeginStep::kClosing);
  // Another thread may have taken over and started the range.
  const bool whole =
      g_intruders.load() == intruders && !g_range.inside.load(std::memory_order_relaxed);
  if (whole) edge(true);
  g_step.store(BeginStep::kNone);
  Signals::restore(signals);
  return whole;
}

/// False if the state could not be recorded: the next call tries again. Other threads have stopped
/// waiting for the order lock by now; they wait here until the range has started. A callback does
/// not wait here: the queue being finished may be waiting for it, or it may run on the thread that
/// starts the range.
bool beginRange() {
  if (t_state.in_callback) {
    // No range starts within a command of this thread that is outside of any range.
    if (t_state.unrecorded != 0 || !g_beginning.tryLock(t_state.tid)) return false;
  } else {
    g_beginning.lock(t_state.tid, kBeginningPatienceNs);
  }
  t_state.beginning = true;
  t_state.was_in_callback = t_state.in_callback;
  t_state.in_callback = true;  // treat callbacks from the driver as such
  bool started = g_range.inside.load(std::memory_order_relaxed);
  if (!started) {
    const uint32_t intruders = g_intruders.load();
    g_step.store(BeginStep::kTaking);
    waitForUnrecorded();
    if (finishQueues()) {
      settle();
      snapshotAll();
      started = finishRangeStart(intruders);
    }
    started = started || g_range.inside.load(std::memory_order_relaxed);
  }
  leaveRangeStart();
  return started;
}

/// For a command that has counted itself. False: a range is starting, and the command must retry.
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
  g_step.store(BeginStep::kNone);  // step of the thread it was taken from
  g_beginning.unlock(t_state.tid);
}

}  // namespace

void leaveRangeStart() {
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

bool isKernelSelected(const char* name) {
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
