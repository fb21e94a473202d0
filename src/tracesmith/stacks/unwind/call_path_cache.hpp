// SPDX-License-Identifier: Apache-2.0
// Host call stacks of one thread as small numbers. Equal stacks get equal numbers, and only new
// stacks are reported to the sink. No two threads of a process use the same number.
//
// A number is found in one of three ways, each used when the one before fails:
//  1. A memo. The last walk from this call site and stack pointer read certain words of the stack.
//     If they have the same values now, a walk would give the same result, because a walk depends
//     on nothing else. Memos are looked up at every frame, so a stack that differs only in its
//     innermost frames is walked only there.
//  2. A cached rule for each address (WalkRule), filled from .eh_frame.
//  3. All registers and all unwind rules (walkInFull).
//
// Runs inside the recorded program: uses only libc. Memory comes from mmap, when a thread starts
// and after it has seen very many stacks (kMostBytes). docs/stacks.md has the cost.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracesmith/stacks/unwind/full_walk.hpp"
#include "tracesmith/stacks/unwind/walk_rule.hpp"

namespace tracesmith::stacks {

/// Receives what is new. Frames are frame words. A call that returns false has lost its data, and
/// will be repeated when the data is seen again.
struct CallPathSink {
  /// Paths `first` to `first` + count - 1: each adds one inner frame to the path before it, the
  /// first one to `parent` (0: none).
  bool (*path)(void* context, uint32_t first, uint32_t parent, const uint64_t* frames,
               uint32_t count);
  /// A loaded object that contains frames. May be null.
  bool (*object)(void* context, const LoadedObject& object);
  void* context;
};

struct CallPathOptions {
  uint32_t max_depth = 128;  // frames; at most kMostFrames
  TableLock lock = TableLock::kAllowed;
  /// Innermost frames with addresses in [skip_begin, skip_end) are omitted.
  uint64_t skip_begin = 0;
  uint64_t skip_end = 0;
};

/// Call it when the code at known addresses of the process may have changed: all threads' caches
/// start again.
void forgetCode();
/// Call it after a dlclose(): forgets everything if that unloaded anything. Otherwise an unloading
/// is noticed only at an unknown address, or after very many walks.
void forgetUnloadedCode();

class CallPathCache {
 public:
  static constexpr uint32_t kMostFrames = 512;
  /// Most memory that one thread's cache may use.
  static constexpr uint64_t kMostBytes = 20u << 20;

  /// nullptr without memory. One for each thread. The caller must pass it to destroy() afterwards,
  /// on any thread.
  static CallPathCache* make(const CallPathOptions& options, const CallPathSink& sink);
  static void destroy(CallPathCache* cache);

  /// The number of the stack at `start`, a call site of the calling thread in a function that has
  /// not returned. 0: the stack could not be reported to the sink. [hot]
  uint32_t capture(const StartPoint& start) {
    const Anchor& a = anchors_[anchorIndex(start.pc, start.sp)];
    if (__builtin_expect(a.pc == start.pc && a.sp == start.sp && epoch_ == currentEpoch() &&
                             (!a.needs_fp || a.fp == start.fp) && holds(*a.memo, a.first_slot),
                         1)) {
      return a.id;
    }
    return captureUncached(start);
  }

  /// Writes the frames themselves, innermost first, without a number; returns how many. The
  /// placeholder for unknown callers is left out.
  uint32_t frames(const StartPoint& start, uint64_t* words, uint32_t most);

  /// A number for the path `parent` plus one more word, which is given instead of walked.
  uint32_t child(uint32_t parent, uint64_t word);

  /// Call it when what the sink received is no longer known, as in a forked child.
  void restart() { clearAll(); }

  /// Bytes of memory in use.
  uint64_t bytes() const;
  /// Number of walks, partial or complete, and of those with all registers.
  uint64_t walks() const { return walks_; }
  uint64_t fullWalks() const { return full_walks_; }

 private:
  // None of these has initial values: the memory is zeros, and must not be touched before it is
  // used.
  struct Frame {
    uint64_t word;
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint32_t id;
    uint16_t first_slot;  // first slot that this frame and its callers depend on
    bool needs_fp;        // and whether they depend on the frame pointer
  };
  /// Followed by the values, their distances from `base`, and the frames.
  struct Memo {
    uint64_t base;
    uint32_t frames;
    uint32_t slots;
    WalkEnd end;

    uint64_t* values() { return reinterpret_cast<uint64_t*>(this + 1); }
    const uint64_t* values() const { return reinterpret_cast<const uint64_t*>(this + 1); }
    uint32_t* places() { return reinterpret_cast<uint32_t*>(values() + slots); }
    const uint32_t* places() const { return reinterpret_cast<const uint32_t*>(values() + slots); }
    Frame* frame() { return reinterpret_cast<Frame*>(values() + slots + (slots + 1) / 2); }
    const Frame* frame() const {
      return reinterpret_cast<const Frame*>(values() + slots + (slots + 1) / 2);
    }
    static uint64_t bytes(uint32_t frames, uint32_t slots) {
      return sizeof(Memo) + 8 * (uint64_t{slots} + (slots + 1) / 2) + sizeof(Frame) * frames;
    }
  };
  /// A place where a passing walk finds that its outer part is already known.
  struct Anchor {
    uint64_t pc;  // as in frame words, so that interrupted frames are not mistaken for calls
    uint64_t sp;
    uint64_t fp;
    const Memo* memo;
    uint32_t id;
    uint16_t level;
    uint16_t first_slot;
    bool needs_fp;
  };
  struct Node {  // of the tree of paths
    uint64_t word;
    uint32_t parent;
    uint32_t id;  // 0: none
  };
  struct KnownObject {
    uint64_t begin;
    uint64_t end;
  };
  static constexpr uint32_t kAnchors = 2048;
  static constexpr uint64_t kMemoBytes = 512u << 10;
  static constexpr uint32_t kFirstNodes = 8192;
  static constexpr uint32_t kMostNodes = 1u << 20;
  static constexpr uint32_t kMostObjects = 1024;
  /// Number of captures after which unloading is checked without a notification.
  static constexpr uint32_t kCapturesBetweenChecks = 4096;

  CallPathCache(const CallPathOptions& options, const CallPathSink& sink);

  static uint64_t currentEpoch() { return g_epoch.load(std::memory_order_relaxed); }
  static uint32_t anchorIndex(uint64_t pc, uint64_t sp) {
    return static_cast<uint32_t>(((pc ^ (sp << 20)) * 0x9e3779b97f4a7c15u) >> 53);
  }
  static_assert(kAnchors == 1u << 11);

  // Excluded from AddressSanitizer: the words may belong to any object; it is only certain that
  // they are on the thread's own stack.
  __attribute__((no_sanitize("address"))) static bool holds(const Memo& memo, uint32_t first_slot) {
    const uint64_t* const values = memo.values();
    const uint32_t* const places = memo.places();
    // Checked first because the innermost return address differs most often.
    if (first_slot < memo.slots &&
        *reinterpret_cast<const uint64_t*>(memo.base + places[first_slot]) != values[first_slot]) {
      return false;
    }
    uint64_t different = 0;
    for (uint32_t i = first_slot + 1; i < memo.slots; ++i) {
      different |= *reinterpret_cast<const uint64_t*>(memo.base + places[i]) ^ values[i];
    }
    return different == 0;
  }

  uint32_t captureUncached(const StartPoint& start);
  void walk(const StartPoint& start);
  uint64_t cfaAtFramePointer(const Frame& f, const WalkRule& rule);
  uint64_t cfaByFrameRecord(const Frame& f, const WalkRule& rule);
  bool guessNextFrame();
  bool stepToCaller(const Frame& f, const WalkRule& rule, uint64_t cfa);
  void walkFull(const StartPoint& start);
  bool join(uint64_t word);
  void noteFramePointerUse();
  const WalkRule& ruleOf(uint64_t address);
  void reportObject(uint64_t address);
  uint32_t number();
  void remember();
  void clearAll();
  void clearMemos();
  uint32_t findNode(uint32_t parent, uint64_t word) const;
  uint32_t insertNodes(uint32_t parent, const uint64_t* words, uint32_t count);
  bool growNodes();

  static std::atomic<uint64_t> g_epoch;
  static std::atomic<uint32_t> g_next_id;  // unique in the process
  friend void forgetCode();

  CallPathOptions options_;
  CallPathSink sink_;
  ThreadStack stack_;
  uint64_t epoch_ = 0;
  uint64_t unloaded_ = 0;
  uint64_t walks_ = 0;
  uint64_t full_walks_ = 0;
  uint32_t until_check_ = kCapturesBetweenChecks;
  uint32_t last_id_ = 0;  // result of the last walk

  // State of the current walk.
  Frame frames_[kMostFrames + 1];
  uint32_t count_ = 0;
  WalkEnd end_ = WalkEnd::kOutermost;
  bool repeatable_ = true;
  bool forgotten_ = false;        // something was evicted during the walk
  const Memo* joined_ = nullptr;  // the memo with the known outer frames, from joined_level_ on
  uint32_t joined_level_ = 0;
  uint32_t fp_since_ = 0;    // the first frame in which the frame pointer has its current value
  uint64_t fp_address_ = 0;  // address it was read from, until that is noted; 0: not read, or noted
  StackMemory memory_;
  CfiScratch scratch_;
  uint64_t words_[kMostFrames + 1];

  Node* nodes_ = nullptr;
  uint32_t node_slots_ = 0;
  uint32_t node_count_ = 0;
  KnownObject objects_[kMostObjects];
  uint32_t object_count_ = 0;
  uint64_t memo_used_ = 0;
  RuleCache rules_;
  Anchor anchors_[kAnchors];
  alignas(64) uint8_t memos_[kMemoBytes];
};

}  // namespace tracesmith::stacks
