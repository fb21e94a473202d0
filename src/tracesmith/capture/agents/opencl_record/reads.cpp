// SPDX-License-Identifier: Apache-2.0
// What commands that do not wait do to memory that the host sees, above all reads. That memory may
// be looked at only when the command is complete and as long as the program can not know it:
// between the driver's answer to a call that waits or asks, and the return of that call to the
// program. Never on a driver's thread that just completed the command, where the program may be
// freeing the memory meanwhile; and never once the recording has ended, when calls that wait are no
// longer held up.
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

#include <pthread.h>

namespace rec = tracesmith::recording;

namespace tracesmith::record {
namespace {

constinit List<PendingRead> g_pending;       // state lock
constinit std::atomic<uint32_t> g_count{0};  // of g_pending
constinit Table<uint32_t> g_held;            // references of ours by event; state lock
pthread_mutex_t g_settling = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local bool t_settling __attribute__((tls_model("initial-exec"))) = false;

/// One thread settles at a time, so that no other returns to the program while the memory it may
/// free is being hashed.
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
  const cl_int result = g_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                              sizeof status, &status, nullptr);
  return result == CL_SUCCESS ? status : result;
}

bool isIn(const Sync& sync, const PendingRead& read) {
  if (sync.queue != 0 && sync.queue == read.queue) return true;
  for (uint64_t i = 0; i < sync.count; ++i) {
    if (sync.events[i] == read.event) return true;
  }
  return false;
}

/// A read that is complete, or failed. It is in no list any more.
void conclude(const PendingRead& read, cl_int status) {
  if (read.what == Awaited::kUse) return endUse(handleOf(read.place.at), read.allocation);
  Call call;
  Content content;
  const Keep keep = read.what == Awaited::kMap      ? Keep::kHashes
                    : read.what == Awaited::kSource ? Keep::kBytes
                                                    : keepOutputs();
  if (status == CL_COMPLETE && !read.lost) {
    content.take(read.place, keep);
  } else {
    content.unknown(read.place.bytes());
  }
  call.end(status < 0 ? status : CL_SUCCESS);
  done(read.sequence, call, content.payload(), keep == Keep::kBytes && content.payload().known());
  if (read.what == Awaited::kMap && status == CL_COMPLETE) {
    StateLock lock;
    for (MapState& map : g_objects.maps) {
      if (map.place.at == read.place.at && map.shown.empty()) map.shown = content.summary();
    }
  }
}

void giveBack(const PendingRead& read) {
  {
    StateLock lock;
    uint32_t* held = g_held.find(handleOf(read.event));
    if (held != nullptr && --*held == 0) g_held.erase(handleOf(read.event));
  }
  g_next.clReleaseEvent(read.event);
}

bool overlap(const Place& a, const Place& b) {
  return a.at < b.at + b.extent() && b.at < a.at + a.extent();
}

}  // namespace

bool readsPending() { return g_count.load(std::memory_order_relaxed) != 0; }

bool awaitRead(const PendingRead& read) {
  PendingRead kept = read;
  if (g_next.clRetainEvent(kept.event) != CL_SUCCESS) return false;
  bool added = false;
  {
    StateLock lock;
    added = g_pending.add(kept);
    if (added) g_count.fetch_add(1, std::memory_order_relaxed);
    if (added) {
      uint32_t* held = g_held.find(handleOf(kept.event));
      if (held == nullptr) held = g_held.insert(handleOf(kept.event));
      if (held != nullptr) ++*held;
    }
  }
  if (!added) g_next.clReleaseEvent(kept.event);
  return added;
}

namespace {

/// The recording has ended: what the program reads is no longer looked at.
void giveAllBack() {
  for (;;) {
    PendingRead read;
    {
      StateLock lock;
      if (g_pending.size() == 0) return;
      read = g_pending[g_pending.size() - 1];
      g_pending.erase(g_pending.size() - 1);
      g_count.fetch_sub(1, std::memory_order_relaxed);
    }
    giveBack(read);
  }
}

/// Settle lock.
void settleLocked(const Sync& sync) {
  for (uint64_t i = 0;;) {
    if (!recording()) return giveAllBack();
    PendingRead read;
    {
      StateLock lock;
      if (i >= g_pending.size()) break;
      read = g_pending[i];
    }
    cl_int status = statusOf(read.event);
    // The driver said so of its queue; of the event it will in a moment. Not waited for in the
    // driver, whose thread may be in a callback of the program that waits for us.
    for (int tries = 0; status > CL_COMPLETE && tries < 1000 && isIn(sync, read); ++tries) {
      pauseNs(100'000);
      status = statusOf(read.event);
    }
    if (status > CL_COMPLETE && isIn(sync, read)) {
      status = CL_COMPLETE;  // the program may free the memory now
      read.lost = true;
    }
    if (status > CL_COMPLETE) {
      ++i;
      continue;
    }
    conclude(read, status);
    {
      StateLock lock;
      g_pending.erase(i);
      g_count.fetch_sub(1, std::memory_order_relaxed);
    }
    giveBack(read);
  }
}

bool nothingPending() { return !readsPending() || t_settling || !tablesUsable(); }

template <class Is>
bool anyPending(Is&& is) {
  StateLock lock;
  for (const PendingRead& read : g_pending) {
    if (is(read)) return true;
  }
  return false;
}

/// Settles, and gives up of what is left that for which `isLost` says so. Under the settle lock:
/// none of them is being hashed.
template <class IsLost>
void lose(IsLost&& isLost) {
  SettleLock settling;
  settleLocked({});
  StateLock lock;
  for (PendingRead& read : g_pending) read.lost = read.lost || isLost(read);
}

}  // namespace

void settle(const Sync& sync) {
  if (nothingPending()) return;
  SettleLock settling;
  settleLocked(sync);
}

bool yetToBeFilled(const Place& place) {
  const auto fills = [&](const PendingRead& read) {
    return (read.what == Awaited::kRead || read.what == Awaited::kUse) &&
           overlap(read.place, place);
  };
  if (nothingPending() || !anyPending(fills)) return false;
  settle();
  return anyPending(fills);
}

void aboutToOverwrite(const Place& place) {
  if (nothingPending() || place.at == nullptr) return;
  if (anyPending([&](const PendingRead& read) { return overlap(read.place, place); }))
    lose([&](const PendingRead& read) { return overlap(read.place, place); });
}

void aboutToUnmap(const void* pointer) {
  if (nothingPending()) return;
  lose([&](const PendingRead& read) {
    return read.what == Awaited::kMap && read.place.at == pointer;
  });
}

uint32_t heldReferences(cl_event event) {
  if (!readsPending()) return 0;
  StateLock lock;
  const uint32_t* held = g_held.find(handleOf(event));
  return held != nullptr ? *held : 0;
}

}  // namespace tracesmith::record
