// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

#include <string.h>
#include <sys/mman.h>

#include <new>

#include "tracesmith/base/linux/loaded_modules.hpp"

namespace tracesmith::stacks {
namespace {

void* pages(uint64_t bytes) {
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

uint64_t hashOfNode(uint32_t parent, uint64_t word) {
  uint64_t h = (word ^ (uint64_t{parent} << 40 | parent)) * 0xff51afd7ed558ccdu;
  return (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
}

/// A short walk that ends at a memo does not get a memo of its own each time. Otherwise call sites
/// that alternate at one stack pointer would do nothing but create memos.
constexpr uint32_t kFewFrames = 3;

}  // namespace

std::atomic<uint64_t> CallPathCache::g_epoch{1};
std::atomic<uint32_t> CallPathCache::g_next_id{1};

void forgetCode() { CallPathCache::g_epoch.fetch_add(1, std::memory_order_relaxed); }

void forgetUnloadedCode() {
  static std::atomic<uint64_t> known{0};
  const uint64_t unloaded = loadCounts().unloaded;
  if (known.exchange(unloaded, std::memory_order_relaxed) != unloaded) forgetCode();
}

CallPathCache* CallPathCache::make(const CallPathOptions& options, const CallPathSink& sink) {
  static_assert(sizeof(CallPathCache) + uint64_t{kMostNodes} * sizeof(Node) <= kMostBytes);
  void* const place = pages(sizeof(CallPathCache));
  if (place == nullptr) return nullptr;
  auto* const cache = new (place) CallPathCache(options, sink);
  if (cache->nodes_ == nullptr) {
    destroy(cache);
    return nullptr;
  }
  return cache;
}

void CallPathCache::destroy(CallPathCache* cache) {
  if (cache == nullptr) return;
  if (cache->nodes_ != nullptr) munmap(cache->nodes_, sizeof(Node) * cache->node_slots_);
  munmap(cache, sizeof *cache);
}

// Large members are zeros already, and must not be touched before they are used.
CallPathCache::CallPathCache(const CallPathOptions& options, const CallPathSink& sink)
    : options_(options), sink_(sink), epoch_(currentEpoch()) {
  if (options_.max_depth == 0) options_.max_depth = 1;
  if (options_.max_depth > kMostFrames) options_.max_depth = kMostFrames;
  if (options_.lock == TableLock::kAllowed) {
    stack_ = findThreadStack();
    unloaded_ = loadCounts().unloaded;
  }
  nodes_ = static_cast<Node*>(pages(sizeof(Node) * kFirstNodes));
  node_slots_ = nodes_ == nullptr ? 0 : kFirstNodes;
}

uint64_t CallPathCache::bytes() const {
  return sizeof *this + sizeof(Node) * uint64_t{node_slots_};
}

uint32_t CallPathCache::captureUncached(const StartPoint& start) {
  if (epoch_ != currentEpoch()) {
    epoch_ = currentEpoch();
    clearAll();
  }
  if (--until_check_ == 0) {
    until_check_ = kCapturesBetweenChecks;
    if (options_.lock == TableLock::kAllowed && loadCounts().unloaded != unloaded_) clearAll();
  }
  ++walks_;
  forgotten_ = false;
  walk(start);
  uint32_t id = number();
  if (id == 0 && forgotten_) {  // there was no space for new paths; now there is
    walk(start);
    id = number();
  }
  const Anchor& a = anchors_[anchorIndex(start.pc, start.sp)];
  const bool taking_turns = a.pc == start.pc && a.sp == start.sp && id != last_id_;
  last_id_ = id;
  if (id != 0 && repeatable_ && !(joined_ != nullptr && count_ <= kFewFrames && taking_turns)) {
    remember();
  }
  return id;
}

uint32_t CallPathCache::frames(const StartPoint& start, uint64_t* words, uint32_t most) {
  if (epoch_ != currentEpoch()) {
    epoch_ = currentEpoch();
    clearAll();
  }
  walk(start);
  uint32_t count = 0;
  for (uint32_t i = 0; i < count_ && count < most; ++i) words[count++] = frames_[i].word;
  for (uint32_t i = joined_level_; joined_ != nullptr && i < joined_->frames && count < most; ++i) {
    words[count++] = joined_->frame()[i].word;
  }
  return count;
}

/// Whether the outer part of the walk is known from the frame `word` on, which is not yet part of
/// it.
bool CallPathCache::join(uint64_t word) {
  const Frame& f = frames_[count_];
  const Anchor& a = anchors_[anchorIndex(word, f.sp)];
  if (a.pc != word || a.sp != f.sp || (a.needs_fp && a.fp != f.fp) || memory_.foreign()) {
    return false;
  }
  // A memo that was cut at another place does not apply to a walk that must be cut here.
  const bool cut = count_ != 0 && (a.memo->end == WalkEnd::kTooDeep ||
                                   count_ + a.memo->frames - a.level > options_.max_depth);
  if (cut || !holds(*a.memo, a.first_slot)) return false;
  joined_ = a.memo;
  joined_level_ = a.level;
  end_ = a.memo->end;
  if (a.needs_fp) noteFramePointerUse();
  return true;
}

/// Notes that the current frame's position depends on the frame pointer.
void CallPathCache::noteFramePointerUse() {
  if (fp_address_ != 0) {
    if (!memory_.note(fp_address_, frames_[count_].fp)) repeatable_ = false;
    fp_address_ = 0;
  }
  for (uint32_t i = fp_since_; i <= count_ && i < kMostFrames; ++i) frames_[i].needs_fp = true;
}

const WalkRule& CallPathCache::ruleOf(uint64_t address) {
  const WalkRule* const known = rules_.find(address);
  if (__builtin_expect(known != nullptr, 1)) return *known;
  // After an unloading other code may be at the same address.
  if (options_.lock == TableLock::kAllowed) {
    const uint64_t unloaded = loadCounts().unloaded;
    if (unloaded != unloaded_) {
      clearAll();
      unloaded_ = unloaded;
    }
    reportObject(address);
  }
  WalkRule rule;
  findRule(address, options_.lock, scratch_, rule);
  return *rules_.put(rule);
}

void CallPathCache::reportObject(uint64_t address) {
  if (sink_.object == nullptr || object_count_ == kMostObjects) return;
  for (uint32_t i = 0; i < object_count_; ++i) {
    if (address - objects_[i].begin < objects_[i].end - objects_[i].begin) return;
  }
  visitObjectOf(
      address,
      [](const LoadedObject& object, void* context) {
        auto& self = *static_cast<CallPathCache*>(context);
        if (!self.sink_.object(self.sink_.context, object)) return;
        self.objects_[self.object_count_++] = {object.begin, object.end};
      },
      this);
}

/// Reads the canonical frame address from the word at fp + cfa_offset; 0: unreadable.
inline uint64_t CallPathCache::cfaAtFramePointer(const Frame& f, const WalkRule& rule) {
  uint64_t cfa = 0;
  const uint64_t at = f.fp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
  if (!memory_.read(at, cfa)) return 0;
  if (!memory_.note(at, cfa)) repeatable_ = false;
  return cfa;
}

/// When the stack pointer is unknown: computes the address from the frame record that the frame
/// pointer points to.
inline uint64_t CallPathCache::cfaByFrameRecord(const Frame& f, const WalkRule& rule) {
  noteFramePointerUse();
  return rule.fp == WalkRule::Fp::kAtCfa && rule.ra_offset == rule.fp_offset + 8
             ? f.fp - static_cast<uint64_t>(int64_t{rule.fp_offset})
             : 0;
}

/// Continues to a caller without unwind information, by frame pointers alone.
bool CallPathCache::guessNextFrame() {
  const Frame& f = frames_[count_];
  noteFramePointerUse();
  GuessedCaller caller;
  ++count_;
  if (!guessCaller(f.sp, f.fp, memory_, caller)) {
    end_ = WalkEnd::kNoInformation;
    return false;
  }
  frames_[count_].pc = caller.pc;
  frames_[count_].sp = caller.sp;
  frames_[count_].fp = caller.fp;
  fp_since_ = count_;
  return true;
}

/// Continues to the caller of `f`, whose canonical frame address is `cfa`. False at the end.
[[gnu::always_inline]] inline bool CallPathCache::stepToCaller(const Frame& f, const WalkRule& rule,
                                                               uint64_t cfa) {
  ++count_;
  Frame& caller = frames_[count_];
  const uint64_t ra_at = cfa + static_cast<uint64_t>(int64_t{rule.ra_offset});
  if (cfa <= f.sp || (cfa & 7) != 0 || !memory_.read(ra_at, caller.pc)) {
    end_ = WalkEnd::kBroken;
    return false;
  }
  if (!memory_.note(ra_at, caller.pc)) repeatable_ = false;
  if (rule.return_signed) caller.pc = withoutSignature(caller.pc);
  caller.sp = cfa;
  caller.fp = f.fp;
  if (rule.fp != WalkRule::Fp::kSame) {
    const bool at_cfa = rule.fp == WalkRule::Fp::kAtCfa;
    if (!at_cfa) {
      --count_;
      noteFramePointerUse();
      ++count_;
    }
    const uint64_t at = (at_cfa ? cfa : f.fp) + static_cast<uint64_t>(int64_t{rule.fp_offset});
    if (!memory_.read(at, caller.fp)) {
      end_ = WalkEnd::kBroken;
      return false;
    }
    fp_address_ = at;
    fp_since_ = count_;
  }
  return caller.pc != 0;
}

/// [hot: call_path_bench]
void CallPathCache::walk(const StartPoint& start) {
  count_ = 0;
  end_ = WalkEnd::kOutermost;
  repeatable_ = true;
  joined_ = nullptr;
  fp_since_ = 0;
  fp_address_ = 0;
  memory_.begin(stack_, start.sp);
  uint64_t flags = 0;
  frames_[0].pc = start.pc;
  frames_[0].sp = start.sp;
  frames_[0].fp = start.fp;
  for (bool goes_on = true; goes_on;) {
    Frame& f = frames_[count_];
    if (count_ == options_.max_depth) {
      end_ = WalkEnd::kTooDeep;
      break;
    }
    f.word = (f.pc & kFrameAddressMask) | flags;
    flags = 0;
    if (join(f.word)) break;
    f.first_slot = static_cast<uint16_t>(memory_.count());
    f.needs_fp = false;
    const WalkRule& rule = ruleOf(f.pc - 1);
    const auto offset = static_cast<uint64_t>(int64_t{rule.cfa_offset});
    switch (rule.cfa) {
      case WalkRule::Cfa::kSp:
        goes_on = stepToCaller(
            f, rule, isUnknownStackPointer(f.sp) ? cfaByFrameRecord(f, rule) : f.sp + offset);
        break;
      case WalkRule::Cfa::kFp:
        noteFramePointerUse();
        goes_on = stepToCaller(f, rule, f.fp + offset);
        break;
      case WalkRule::Cfa::kAtFp:
        noteFramePointerUse();
        goes_on = stepToCaller(f, rule, cfaAtFramePointer(f, rule));
        break;
      case WalkRule::Cfa::kOutermost:
        ++count_;
        goes_on = false;
        break;
      case WalkRule::Cfa::kFull:
        return walkFull(start);
      case WalkRule::Cfa::kNoInformation:
        if (isSignalReturn(f.pc, memory_)) return walkFull(start);
        goes_on = guessNextFrame();
        flags = kGuessedFrame;
        break;
    }
  }
  if (memory_.outside()) repeatable_ = false;
}

void CallPathCache::walkFull(const StartPoint& start) {
  ++full_walks_;
  memory_.begin(stack_, start.sp);
  const FullWalk full =
      walkInFull(start, options_.lock, scratch_, memory_, words_, options_.max_depth);
  // If even the full walk did not reach the call site, keep the frames that the rules gave.
  if (full.count == 0) {
    ++count_;
    end_ = full.end;
    repeatable_ = false;
    return;
  }
  count_ = full.count;
  end_ = full.end;
  joined_ = nullptr;
  for (uint32_t i = 0; i < count_; ++i) {
    frames_[i].word = words_[i];
    frames_[i].pc = words_[i] & kFrameAddressMask;
    frames_[i].first_slot = 0;
    frames_[i].needs_fp = true;
    frames_[i].sp = 0;  // an anchor that never matches
    if (options_.lock == TableLock::kAllowed) reportObject(frames_[i].pc);
  }
  frames_[0].sp = start.sp;
  frames_[0].fp = start.fp;
  repeatable_ = full.repeatable;
}

/// Returns the number of the walk's path, built from its outermost frame inwards; 0 when the path
/// could not be reported.
uint32_t CallPathCache::number() {
  uint32_t id = 0;
  if (joined_ != nullptr) {
    id = joined_->frame()[joined_level_].id;
  } else if (end_ != WalkEnd::kOutermost) {
    id = child(0, otherFrame(FrameWordKind::kCut, static_cast<uint64_t>(end_)));
    if (id == 0) return 0;
  }
  uint32_t skipped = 0;
  while (skipped < count_ &&
         frames_[skipped].pc - options_.skip_begin < options_.skip_end - options_.skip_begin) {
    ++skipped;
  }
  uint32_t at = count_;
  while (at > skipped) {
    const uint32_t next = findNode(id, frames_[at - 1].word);
    if (next == 0) break;
    frames_[--at].id = id = next;
  }
  if (at > skipped) {
    // All frames inside a new one are new.
    const uint32_t added = at - skipped;
    for (uint32_t i = 0; i < added; ++i) words_[i] = frames_[at - 1 - i].word;
    const uint32_t first = insertNodes(id, words_, added);
    if (first == 0) return 0;
    for (uint32_t i = 0; i < added; ++i) frames_[at - 1 - i].id = first + i;
    id = first + added - 1;
  }
  for (uint32_t i = 0; i < skipped; ++i) frames_[i].id = id;
  return id;
}

uint32_t CallPathCache::child(uint32_t parent, uint64_t word) {
  const uint32_t known = findNode(parent, word);
  return known != 0 ? known : insertNodes(parent, &word, 1);
}

uint32_t CallPathCache::findNode(uint32_t parent, uint64_t word) const {
  const uint32_t mask = node_slots_ - 1;
  for (auto i = static_cast<uint32_t>(hashOfNode(parent, word) >> 32) & mask;; i = (i + 1) & mask) {
    const Node& node = nodes_[i];
    if (node.id == 0) return 0;
    if (node.word == word && node.parent == parent) return node.id;
  }
}

/// Reports new paths and keeps them. Returns the first one's number, or 0.
uint32_t CallPathCache::insertNodes(uint32_t parent, const uint64_t* words, uint32_t count) {
  if (node_count_ + count > node_slots_ - node_slots_ / 4 && !growNodes()) {
    // Everything is new again from here on; numbers are not reused.
    clearAll();
    return 0;
  }
  const uint32_t first = g_next_id.fetch_add(count, std::memory_order_relaxed);
  if (!sink_.path(sink_.context, first, parent, words, count)) return 0;
  const uint32_t mask = node_slots_ - 1;
  for (uint32_t n = 0; n < count; ++n) {
    auto i = static_cast<uint32_t>(hashOfNode(parent, words[n]) >> 32) & mask;
    while (nodes_[i].id != 0) i = (i + 1) & mask;
    nodes_[i] = {words[n], parent, first + n};
    parent = first + n;
  }
  node_count_ += count;
  return first;
}

bool CallPathCache::growNodes() {
  if (node_slots_ >= kMostNodes) return false;
  const uint32_t places = node_slots_ * 4 > kMostNodes ? kMostNodes : node_slots_ * 4;
  auto* const nodes = static_cast<Node*>(pages(sizeof(Node) * places));
  if (nodes == nullptr) return false;
  for (uint32_t from = 0; from < node_slots_; ++from) {
    const Node& node = nodes_[from];
    if (node.id == 0) continue;
    auto i = static_cast<uint32_t>(hashOfNode(node.parent, node.word) >> 32) & (places - 1);
    while (nodes[i].id != 0) i = (i + 1) & (places - 1);
    nodes[i] = node;
  }
  munmap(nodes_, sizeof(Node) * node_slots_);
  nodes_ = nodes;
  node_slots_ = places;
  return true;
}

/// Creates a memo of the walk, and anchors for each of its frames.
void CallPathCache::remember() {
  const uint32_t tail = joined_ == nullptr ? 0 : joined_->frames - joined_level_;
  const uint32_t tail_first = tail == 0 ? 0 : joined_->frame()[joined_level_].first_slot;
  const uint32_t tail_slots = tail == 0 ? 0 : joined_->slots - tail_first;
  const uint32_t frames = count_ + tail;
  const uint32_t slots = memory_.count() + tail_slots;
  const uint64_t base = frames_[0].sp;
  if (frames > kMostFrames + 1 || slots > StackMemory::kMostSlots || frames == 0) return;
  const auto place = [base](uint64_t address, uint32_t& out) {
    out = static_cast<uint32_t>(address - base);
    return address - base <= UINT32_MAX;
  };
  const uint64_t bytes = (Memo::bytes(frames, slots) + 63) & ~uint64_t{63};
  if (memo_used_ + bytes > kMemoBytes) {
    if (bytes > kMemoBytes) return;
    // The tail may be in the memory that is freed; the next walk creates its own memo.
    const bool has_tail = tail != 0;
    clearMemos();
    if (has_tail) return;
  }
  auto* const memo = reinterpret_cast<Memo*>(memos_ + memo_used_);
  memo->base = base;
  memo->frames = frames;
  memo->slots = slots;
  memo->end = end_;
  uint64_t* const values = memo->values();
  uint32_t* const places = memo->places();
  for (uint32_t i = 0; i < memory_.count(); ++i) {
    values[i] = memory_.values()[i];
    if (!place(memory_.addresses()[i], places[i])) return;
  }
  for (uint32_t i = 0; i < tail_slots; ++i) {
    const uint32_t to = memory_.count() + i;
    values[to] = joined_->values()[tail_first + i];
    if (!place(joined_->base + joined_->places()[tail_first + i], places[to])) return;
  }
  Frame* const frame = memo->frame();
  for (uint32_t i = 0; i < count_; ++i) frame[i] = frames_[i];
  for (uint32_t i = 0; i < tail; ++i) {
    frame[count_ + i] = joined_->frame()[joined_level_ + i];
    frame[count_ + i].first_slot =
        static_cast<uint16_t>(frame[count_ + i].first_slot - tail_first + memory_.count());
  }
  memo_used_ += bytes;
  // Frames of the tail have anchors already, which are equally good.
  for (uint32_t i = count_; i-- > 0;) {
    const Frame& f = frame[i];
    if (f.sp == 0) continue;
    anchors_[anchorIndex(f.word, f.sp)] = {
        f.word, f.sp, f.fp, memo, f.id, static_cast<uint16_t>(i), f.first_slot, f.needs_fp};
  }
}

void CallPathCache::clearMemos() {
  memset(static_cast<void*>(anchors_), 0, sizeof anchors_);
  memo_used_ = 0;
}

void CallPathCache::clearAll() {
  clearMemos();
  rules_.clear();
  memset(static_cast<void*>(nodes_), 0, sizeof(Node) * node_slots_);
  node_count_ = 0;
  object_count_ = 0;
  joined_ = nullptr;
  forgotten_ = true;
  repeatable_ = false;
  if (options_.lock == TableLock::kAllowed) unloaded_ = loadCounts().unloaded;
}

}  // namespace tracesmith::stacks
