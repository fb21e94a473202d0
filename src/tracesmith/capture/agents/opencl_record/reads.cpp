// SPDX-License-Identifier: Apache-2.0
// Effects of non-blocking commands on host memory, mainly reads. The recorder may read that memory
// only while the command is complete and the program cannot know it yet. That is between the
// driver's return from a call that waits or queries, and the return of that call to the program. It
// must not read on the driver thread that has just completed the command, because the program may
// be freeing the memory meanwhile. Nor may it read after the recording has ended, when calls that
// wait are no longer delayed.
#include <pthread.h>

#include "tracesmith/base/interval_tree.hpp"
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace rec = tracesmith::recording;

namespace tracesmith::record {
namespace {

/// The reads of one queue, in order of submission.
struct QueueReads {
  Handle queue = 0;
  bool in_order = false;
  List<uint64_t> numbers;  // 0: already settled
  uint64_t first = 0;      // all before this one are settled
};

/// An event on which the recorder holds references.
struct HeldEvent {
  uint32_t references = 0;
  uint32_t queue = 0;   // index in g_queues
  uint64_t number = 0;  // its latest number
  uint64_t waited = 0;  // number of the last settling before which the program waited for it
};

// Guarded by the state lock. A program may have very many reads in progress: each one costs at most
// logarithmic time here.
constinit Table<PendingRead> g_pending;     // by number
constinit List<QueueReads> g_queues;        // queues are never removed
constinit Table<uint32_t> g_queue_indices;  // index in g_queues plus one
constinit Table<HeldEvent> g_held;
constinit IntervalTree<> g_fills;   // host memory that may still be written
constinit IntervalTree<> g_hashed;  // host memory that will be hashed, except maps
constinit IntervalTree<> g_maps;    // the same for maps
constinit uint64_t g_settlings = 0;
constinit std::atomic<uint64_t> g_arrived{0};  // numbers assigned
constinit std::atomic<uint32_t> g_count{0};    // size of g_pending

pthread_mutex_t g_settling = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local bool t_settling __attribute__((tls_model("initial-exec"))) = false;

/// One thread settles at a time, so that no other thread returns to the program while memory that
/// the program may free is being hashed.
class SettleLock {
 public:
  SettleLock() {
    t_settling = true;
    pthread_mutex_lock(&g_settling);
  }
  ~SettleLock() {
    pthread_mutex_unlock(&g_settling);
    t_settling = false;
  }
  SettleLock(const SettleLock&) = delete;
  SettleLock& operator=(const SettleLock&) = delete;
};

cl_int statusOf(cl_event event) {
  cl_int status = CL_QUEUED;
  const cl_int result = next().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                              sizeof status, &status, nullptr);
  return result == CL_SUCCESS ? status : result;
}

/// Handles a read that is complete, or has failed. It is not in any list any more.
void conclude(const PendingRead& read, cl_int status) {
  if (read.what == PendingKind::kUse) return endSharedUse(handleOf(read.place.at), read.allocation);
  Call call;
  Content content;
  const Keep keep = read.what == PendingKind::kMap      ? Keep::kHashes
                    : read.what == PendingKind::kSource ? Keep::kBytes
                                                        : keepOutputs();
  if (status == CL_COMPLETE && !read.lost) {
    content.take(read.place, keep);
  } else {
    content.unknown(read.place.bytes());
  }
  call.end(status < 0 ? status : CL_SUCCESS);
  done(read.sequence, call, content.payload(), keep == Keep::kBytes && content.payload().known());
  if (read.what == PendingKind::kMap && status == CL_COMPLETE) {
    StateLock lock;
    for (MapState& map : g_objects.maps) {
      if (map.place.at == read.place.at && map.shown.empty()) map.shown = content.summary();
    }
  }
}

void releaseEvent(const PendingRead& read) {
  {
    StateLock lock;
    HeldEvent* held = g_held.find(handleOf(read.event));
    if (held != nullptr && --held->references == 0) g_held.erase(handleOf(read.event));
  }
  next().clReleaseEvent(read.event);
}

// --- places of reads; state lock -----------------------------------------------------------------

uint64_t beginOf(const Place& place) { return handleOf(place.at); }
uint64_t endOf(const Place& place) { return handleOf(place.at) + place.extent(); }
bool isFill(const PendingRead& read) {
  return (read.what == PendingKind::kRead || read.what == PendingKind::kUse) &&
         read.place.extent() != 0;
}
bool willBeHashed(const PendingRead& read) {
  return read.what != PendingKind::kUse && !read.lost && read.place.extent() != 0;
}
IntervalTree<>& hashedOf(const PendingRead& read) {
  return read.what == PendingKind::kMap ? g_maps : g_hashed;
}

bool addIntervals(const PendingRead& read, uint64_t number) {
  const uint64_t begin = beginOf(read.place);
  const uint64_t end = endOf(read.place);
  if (isFill(read) && !g_fills.add(begin, end, number)) return false;
  if (!willBeHashed(read) || hashedOf(read).add(begin, end, number)) return true;
  if (isFill(read)) g_fills.remove(begin, number);
  return false;
}

void removeIntervals(const PendingRead& read, uint64_t number) {
  if (isFill(read)) g_fills.remove(beginOf(read.place), number);
  if (willBeHashed(read)) hashedOf(read).remove(beginOf(read.place), number);
}

/// Marks reads in this range as lost: they will not be hashed.
void markLost(IntervalTree<>& intervals, uint64_t begin, uint64_t end) {
  for (uint64_t number = 0; (number = intervals.find(begin, end)) != 0;) {
    PendingRead* read = g_pending.find(number);
    if (read == nullptr) return;
    intervals.remove(beginOf(read->place), number);
    read->lost = true;
  }
}

// --- the queues; state lock -------------------------------------------------------------------

/// Index in g_queues; UINT32_MAX: out of memory.
uint32_t indexOf(Handle queue) {
  if (const uint32_t* index = g_queue_indices.find(queue)) return *index - 1;
  uint32_t* index = g_queue_indices.insert(queue);
  if (index == nullptr) return UINT32_MAX;
  *index = static_cast<uint32_t>(g_queues.size()) + 1;
  QueueReads fresh;
  fresh.queue = queue;
  if (g_queues.add(fresh)) return *index - 1;
  g_queue_indices.erase(queue);
  return UINT32_MAX;
}

bool addLocked(const PendingRead& read) {
  const uint32_t index = indexOf(read.queue);
  if (index == UINT32_MAX) return false;
  const uint64_t number = g_arrived.load(std::memory_order_relaxed) + 1;
  QueueReads& q = g_queues[index];
  if (q.numbers.size() == q.first) {
    const QueueState* state = g_objects.queues.find(read.queue);
    q.in_order = state != nullptr && !state->out_of_order;
  }
  HeldEvent* held = g_held.find(handleOf(read.event));
  const bool fresh = held == nullptr;
  if (fresh) held = g_held.insert(handleOf(read.event));
  PendingRead* kept = held != nullptr ? g_pending.insert(number) : nullptr;
  const bool placed = kept != nullptr && addIntervals(read, number);
  if (!placed || !q.numbers.add(number)) {
    if (placed) removeIntervals(read, number);
    if (fresh) g_held.erase(handleOf(read.event));
    if (kept != nullptr) g_pending.erase(number);
    return false;
  }
  *kept = read;
  ++held->references;
  held->queue = index;
  held->number = number;
  g_arrived.store(number, std::memory_order_relaxed);
  g_count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void removeLocked(QueueReads& q, uint64_t at) {
  const uint64_t number = q.numbers[at];
  if (const PendingRead* read = g_pending.find(number)) removeIntervals(*read, number);
  g_pending.erase(number);
  g_count.fetch_sub(1, std::memory_order_relaxed);
  q.numbers[at] = 0;
  if (at == q.first) ++q.first;
}

/// Removes settled reads if that is worth it.
void compact(QueueReads& q) {
  if (q.in_order && q.first < q.numbers.size() && q.first * 2 < q.numbers.size()) return;
  uint64_t kept = 0;
  for (const uint64_t number : q.numbers) {
    if (number != 0) q.numbers[kept++] = number;
  }
  q.numbers.shrink(kept);
  q.first = 0;
}

// --- settling; settle lock --------------------------------------------------------------------

/// The reads of one queue that a synchronization proves complete.
struct Settled {
  uint64_t settling = 0;
  uint64_t all_before = 0;  // all lower numbers are complete
};

bool isIn(const Settled& settled, const PendingRead& read, uint64_t number) {
  if (number < settled.all_before) return true;
  StateLock lock;
  const HeldEvent* held = g_held.find(handleOf(read.event));
  return held != nullptr && held->waited == settled.settling;
}

void settleQueue(uint32_t index, const Settled& settled) {
  for (uint64_t at = 0;; ++at) {
    if (!recording()) return;
    PendingRead read;
    uint64_t number = 0;
    bool in_order = false;
    {
      StateLock lock;
      const QueueReads& q = g_queues[index];
      if (at < q.first) at = q.first;
      if (at >= q.numbers.size()) break;
      number = q.numbers[at];
      if (number == 0) continue;
      if (const PendingRead* kept = g_pending.find(number)) read = *kept;
      in_order = q.in_order;
    }
    cl_int status = statusOf(read.event);
    const bool is_in = status > CL_COMPLETE && isIn(settled, read, number);
    // The driver has reported the queue complete, and will report the event in a moment. Do not
    // wait for the event in the driver: its thread may be in a callback of the program that waits
    // for this thread.
    for (int tries = 0; status > CL_COMPLETE && tries < 1000 && is_in; ++tries) {
      pauseNs(100'000);
      status = statusOf(read.event);
    }
    if (status > CL_COMPLETE && is_in) {
      status = CL_COMPLETE;  // the program may free the memory from now on
      read.lost = true;
    }
    if (status > CL_COMPLETE) {
      if (in_order) break;  // then all later ones are not complete either
      continue;
    }
    conclude(read, status);
    {
      StateLock lock;
      removeLocked(g_queues[index], at);
    }
    releaseEvent(read);
  }
  StateLock lock;
  compact(g_queues[index]);
}

/// After the end of the recording: releases events without hashing.
void releaseAllEvents() {
  for (uint32_t index = 0;;) {
    PendingRead read;
    {
      StateLock lock;
      if (index >= g_queues.size()) return;
      QueueReads& q = g_queues[index];
      while (q.first < q.numbers.size() && q.numbers[q.first] == 0) ++q.first;
      if (q.first >= q.numbers.size()) {
        compact(q);
        ++index;
        continue;
      }
      if (const PendingRead* kept = g_pending.find(q.numbers[q.first])) read = *kept;
      removeLocked(q, q.first);
    }
    releaseEvent(read);
  }
}

void settleLocked(const Sync& sync) {
  Settled settled;
  uint32_t queues = 0;
  {
    StateLock lock;
    settled.settling = ++g_settlings;
    queues = static_cast<uint32_t>(g_queues.size());
    for (uint64_t i = 0; i < sync.count; ++i) {
      HeldEvent* held = g_held.find(handleOf(sync.events[i]));
      if (held != nullptr) held->waited = settled.settling;
    }
  }
  for (uint32_t index = 0; index < queues; ++index) {
    settled.all_before = 0;
    {
      StateLock lock;
      const QueueReads& q = g_queues[index];
      if (q.first == q.numbers.size()) continue;
      if (q.queue == sync.queue && (q.in_order || !sync.if_in_order)) {
        settled.all_before = sync.before;
      }
      for (uint64_t i = 0; q.in_order && i < sync.count; ++i) {
        const HeldEvent* held = g_held.find(handleOf(sync.events[i]));
        if (held == nullptr || held->queue != index) continue;
        if (held->number >= settled.all_before) settled.all_before = held->number + 1;
      }
    }
    settleQueue(index, settled);
    if (!recording()) return releaseAllEvents();
  }
  if (!recording()) releaseAllEvents();
}

bool nothingPending() { return !readsPending() || t_settling || !tablesUsable(); }

}  // namespace

bool readsPending() { return g_count.load(std::memory_order_relaxed) != 0; }

uint64_t readsSoFar() { return g_arrived.load(std::memory_order_relaxed) + 1; }

bool awaitRead(const PendingRead& read) {
  if (next().clRetainEvent(read.event) != CL_SUCCESS) return false;
  bool added = false;
  {
    StateLock lock;
    added = addLocked(read);
  }
  if (!added) next().clReleaseEvent(read.event);
  return added;
}

void settle(const Sync& sync) {
  if (nothingPending()) return;
  SettleLock settling;
  settleLocked(sync);
}

bool mayBeFilled(const Place& place) {
  if (nothingPending() || place.extent() == 0) return false;
  const auto isFilled = [&] {
    StateLock lock;
    return g_fills.find(beginOf(place), endOf(place)) != 0;
  };
  if (!isFilled()) return false;
  settle();
  return isFilled();
}

void prepareOverwrite(const Place& place) {
  if (nothingPending() || place.at == nullptr || place.extent() == 0) return;
  const uint64_t begin = beginOf(place);
  const uint64_t end = endOf(place);
  {
    StateLock lock;
    if (g_hashed.find(begin, end) == 0 && g_maps.find(begin, end) == 0) return;
  }
  // Under the settle lock, none of them is being hashed.
  SettleLock settling;
  settleLocked({});
  StateLock lock;
  markLost(g_hashed, begin, end);
  markLost(g_maps, begin, end);
}

void prepareUnmap(const void* pointer) {
  if (nothingPending()) return;
  SettleLock settling;
  settleLocked({});
  StateLock lock;
  markLost(g_maps, handleOf(pointer), handleOf(pointer) + 1);
}

uint32_t heldReferences(cl_event event) {
  if (!readsPending()) return 0;
  StateLock lock;
  const HeldEvent* held = g_held.find(handleOf(event));
  return held != nullptr ? held->references : 0;
}

}  // namespace tracesmith::record
