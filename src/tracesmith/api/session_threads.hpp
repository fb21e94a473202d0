// SPDX-License-Identifier: Apache-2.0
// What a thread knows of the sessions that it emits to.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tracesmith/capture/session/session_memory.hpp"

namespace tracesmith::session {

/// A ring that is always full, for spans that a forked child inherits; they belong to the parent.
inline SessionRing g_parents_ring;
inline uint64_t g_parents_words[8];

/// A thread's ring in one session.
struct RingEntry {
  uint64_t key = 0;
  uint32_t pid = 0;
  uint32_t ring = 0;
  std::shared_ptr<SessionMemory> memory;
  Writer writer;
};

/// State of a thread that lives until its very end, after its ThreadEntries are destroyed.
struct ThreadFacts {
  bool ended = false;        // it has given up its rings
  bool drains = false;       // a drainer: for its own events it would have to wait for itself
  uint32_t inside = 0;       // holds a session's lock, or is creating an Entry
  uint64_t refused_key = 0;  // of the session that had no ring for it
  int64_t refused_ns = 0;    // time of that refusal
};
inline constinit thread_local ThreadFacts t_facts;

/// Marks calls that hold a session's lock. Code that interrupts them on the same thread (a signal
/// handler, a recorded allocator) must neither take the lock nor wait for a thread that wants it.
class Inside {
 public:
  Inside() { ++t_facts.inside; }
  ~Inside() { --t_facts.inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

struct ThreadEntries {
  std::vector<std::unique_ptr<RingEntry>> entries;
  void (*forget_slot)() = nullptr;

  ~ThreadEntries() {
    t_facts.ended = true;
    if (forget_slot != nullptr) forget_slot();
    for (auto& entry : entries) leave(*entry);
    entries.clear();
  }
  static void leave(const RingEntry& entry) {
    if (entry.pid == static_cast<uint32_t>(getpid())) entry.memory->leaveRing(entry.ring);
  }
  /// Removes the rings of sessions that have ended, unless a span is still open.
  void prune() {
    std::erase_if(entries, [](const std::unique_ptr<RingEntry>& entry) {
      return entry->memory->header().open.load(std::memory_order_relaxed) == 0 &&
             entry->writer.open_spans == 0;
    });
  }
  /// In a forked child: a thread must not write to the ring of the parent's thread.
  void disown() {
    for (auto& entry : entries) {
      entry->writer.ring = &g_parents_ring;
      entry->writer.words = g_parents_words;
      entry->writer.capacity = sizeof g_parents_words;
      entry->writer.policy = OverflowPolicy::DropNewest;
    }
  }
};
inline thread_local ThreadEntries t_entries;

}  // namespace tracesmith::session
