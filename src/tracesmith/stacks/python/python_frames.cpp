// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_frames.hpp"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

namespace tracesmith::stacks {
namespace {

constexpr uint64_t kEntry = 1;
/// 3.14 stores the kind of reference in these bits of a pointer to an object.
constexpr uint64_t kTagBits = 3;
constexpr uint32_t kMostBetweenChecks = 4096;

void* object(uint64_t address) { return reinterpret_cast<void*>(address); }

/// Reads memory directly, for a layout that was confirmed.
struct PlainMemory {
  template <class T>
  static bool read(uint64_t address, T& out) {
    memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
    return true;
  }
  static bool isCode(uint64_t, uint64_t, const PythonRuntime&) { return true; }
};

/// Reads memory that may contain anything, and checks it: for the first walk.
struct UnverifiedMemory {
  /// The code that the interpreter puts around __init__ does not contain its size.
  static constexpr int32_t kSlack = 8;

  template <class T>
  static bool read(uint64_t address, T& out) {
    constexpr uint64_t kPage = 4096;
    if (address < kPage || address % sizeof out != 0 || !isReadable(address & ~uint64_t{7})) {
      return false;
    }
    return PlainMemory::read(address, out);
  }
  static bool isCode(uint64_t code, uint64_t instruction, const PythonRuntime& runtime) {
    uint64_t type = 0;
    int64_t units = 0;
    int32_t traceable = 0;
    if (!read(code + kObjectType, type) || !read(code + kObjectSize, units) ||
        !read(code + runtime.layout.code_first_traceable, traceable)) {
      return false;
    }
    // A frame that has not started may be one unit before its code.
    const uint64_t place = instruction + kPythonUnit - (code + runtime.layout.code_instructions);
    return type == reinterpret_cast<uint64_t>(runtime.code_type) && units >= 0 &&
           units < INT32_MAX && place <= kPythonUnit * (static_cast<uint64_t>(units) + kSlack) &&
           place % kPythonUnit == 0 && traceable >= 0 && traceable <= units + kSlack;
  }
};

}  // namespace

PythonFrames* PythonFrames::make(CallPathCache* paths, const PythonOptions& options,
                                 const PythonSink& sink) {
  PythonCodes* const codes = PythonCodes::make(sink);
  if (codes == nullptr) return nullptr;
  void* const place = mmap(nullptr, sizeof(PythonFrames), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    PythonCodes::destroy(codes);
    return nullptr;
  }
  return new (place) PythonFrames(paths, options, codes);
}

PythonFrames::PythonFrames(CallPathCache* paths, const PythonOptions& options, PythonCodes* codes)
    : paths_(paths), codes_(codes), options_(options) {
  if (options_.max_depth == 0) options_.max_depth = 1;
  if (options_.max_depth > CallPathCache::kMostFrames) {
    options_.max_depth = CallPathCache::kMostFrames;
  }
}

void PythonFrames::destroy(PythonFrames* frames) {
  if (frames == nullptr) return;
  PythonCodes::destroy(frames->codes_);
  munmap(frames, sizeof *frames);
}

uint32_t PythonFrames::capture() {
  if (runtime_ == nullptr || foundPython() == nullptr) return captureWithoutPython();
  bool locked = false;
  void* const state = runtime_->threadState(locked);
  if (state == nullptr || codes_->isBusy()) return 0;
  if (__builtin_expect(!isKnown(state), 0) && !enter(state)) {
    ++lost_;
    return 0;
  }
  const auto thread = reinterpret_cast<uint64_t>(state);
  Walk& last = walks_[last_];
  if (last.count != 0) {
    if (last.generation == codes_->generation()) {
      if (isAsIn(last, thread)) return last.ids[0];
    } else {
      last.count = 0;
    }
  }
  Walk& now = walks_[last_ ^ 1];
  walk(thread, PlainMemory(), now);
  if (now.count == 0) return 0;
  now.generation = codes_->generation();
  const uint32_t id = number(now, last, locked);
  if (id == 0) {
    ++lost_;
    last.count = 0;
    return 0;
  }
  last_ ^= 1;
  return id;
}

/// Whether the thread is in the same interpreter as last time. Another interpreter may use the
/// memory of an ended one.
bool PythonFrames::isKnown(void* thread) const {
  if (!entered_) return false;
  uint64_t interpreter = 0;
  PlainMemory::read(reinterpret_cast<uint64_t>(thread) + runtime_->layout.thread_interpreter,
                    interpreter);
  return codes_->isOf(interpreter, runtime_->interpreter_id(object(interpreter)));
}

/// Looks for an interpreter now and then, more and more rarely, until there is one.
uint32_t PythonFrames::captureWithoutPython() {
  if (runtime_ != nullptr || options_.lock == TableLock::kNever) return 0;
  const uint32_t n = ++misses_;
  if (n < kMostBetweenChecks ? (n & (n - 1)) != 0 : n % kMostBetweenChecks != 0) return 0;
  const int before = errno;
  searchPython();
  errno = before;
  runtime_ = foundPython();
  return runtime_ == nullptr ? 0 : capture();
}

/// Enters an interpreter, the first or another one. False when its frames cannot be read.
bool PythonFrames::enter(void* thread) {
  const auto state = reinterpret_cast<uint64_t>(thread);
  const auto interpreter = reinterpret_cast<uint64_t>(runtime_->thread_interpreter(thread));
  if (pythonStatus() != PythonStatus::kReady) {
    uint64_t read = 0;
    Walk& seen = walks_[last_ ^ 1];
    const bool right = UnverifiedMemory::read(state + runtime_->layout.thread_interpreter, read) &&
                       read == interpreter && walk(state, UnverifiedMemory(), seen);
    if (right && seen.count == 0) return false;  // no frame, so nothing is confirmed
    setPythonProven(right);
    if (!right) return false;
  }
  entered_ = codes_->enter(runtime_, interpreter, runtime_->interpreter_id(object(interpreter)));
  walks_[last_].count = 0;
  return entered_;
}

/// Whether a walk would give the same result as `last`. For a held code object the instruction's
/// address identifies it.
bool PythonFrames::isAsIn(const Walk& last, uint64_t thread) const {
  const PythonLayout& layout = runtime_->layout;
  const auto at = [](uint64_t address, auto& out) { PlainMemory::read(address, out); };
  const bool marked = layout.frame_is_entry != PythonLayout::kAbsent;
  uint64_t frame = 0;
  at(thread + layout.thread_frame, frame);
  if (layout.link_frame != PythonLayout::kAbsent) at(frame + layout.link_frame, frame);
  if (frame == 0) return false;
  uint8_t owner = 0;
  at(frame + layout.frame_owner, owner);
  uint32_t i = 0;
  while (i < last.count) {
    uint64_t previous = 0;
    uint64_t instruction = 0;
    uint8_t previous_owner = kOwnedByC;
    at(frame + layout.frame_previous, previous);
    if (previous != 0) at(previous + layout.frame_owner, previous_owner);
    if (owner < kOwnedByC) {
      uint8_t entry = previous_owner >= kOwnedByC;
      at(frame + layout.frame_instruction, instruction);
      if (marked) at(frame + layout.frame_is_entry, entry);
      const Item& item = last.items[i];
      if (instruction != item.instruction || entry != (item.code & kEntry)) return false;
      if (last.prints[i] != 0) {
        uint64_t code = 0;
        at(frame + layout.frame_code, code);
        code &= ~kTagBits;
        if (code != (item.code & ~kEntry) ||
            PythonCodes::fingerprintOf(layout, code) != last.prints[i]) {
          return false;
        }
      }
      ++i;
    }
    if (previous == 0) return i == last.count && !last.cut;
    frame = previous;
    owner = previous_owner;
  }
  // If the next outer frame has code, there is one frame more.
  while (owner >= kOwnedByC) {
    at(frame + layout.frame_previous, frame);
    if (frame == 0) return !last.cut;
    at(frame + layout.frame_owner, owner);
  }
  return last.cut;
}

/// Reads the frames of a thread, innermost first. False when memory does not have the expected
/// contents.
template <class Memory>
bool PythonFrames::walk(uint64_t thread, const Memory& memory, Walk& out) const {
  const PythonLayout& layout = runtime_->layout;
  out.count = 0;
  out.cut = false;
  uint64_t frame = 0;
  if (!memory.read(thread + layout.thread_frame, frame)) return false;
  if (layout.link_frame != PythonLayout::kAbsent &&
      !memory.read(frame + layout.link_frame, frame)) {
    return false;
  }
  const bool marked = layout.frame_is_entry != PythonLayout::kAbsent;
  uint8_t owner = 0;
  if (frame != 0 && !memory.read(frame + layout.frame_owner, owner)) return false;
  while (frame != 0) {
    uint64_t previous = 0;
    uint8_t previous_owner = kOwnedByC;
    if (!memory.read(frame + layout.frame_previous, previous)) return false;
    if (previous != 0 && !memory.read(previous + layout.frame_owner, previous_owner)) return false;
    if (owner < kOwnedByC) {
      uint64_t code = 0;
      uint64_t instruction = 0;
      uint8_t entry = previous_owner >= kOwnedByC;
      int32_t traceable = 0;
      if (!memory.read(frame + layout.frame_code, code) ||
          !memory.read(frame + layout.frame_instruction, instruction) ||
          (marked && !memory.read(frame + layout.frame_is_entry, entry))) {
        return false;
      }
      code &= ~kTagBits;
      if (!memory.isCode(code, instruction, *runtime_) || entry > 1 ||
          !memory.read(code + layout.code_first_traceable, traceable)) {
        return false;
      }
      // The interpreter itself hides frames that have not reached their first line, and the frame
      // that it puts around __init__. An entry frame is kept, because it shows that the C function
      // was entered.
      const uint64_t begins =
          code + layout.code_instructions + kPythonUnit * static_cast<uint32_t>(traceable);
      if (owner == kOwnedByGenerator || instruction >= begins || entry != 0) {
        if (out.count == options_.max_depth) {
          out.cut = true;
          return true;
        }
        out.items[out.count++] = {instruction, code | (entry != 0 ? kEntry : 0)};
      }
    }
    frame = previous;
    owner = previous_owner;
  }
  return true;
}

/// Returns the number of a walk's path. The outer frames are usually those of the last walk.
uint32_t PythonFrames::number(Walk& now, const Walk& last, bool locked) {
  const PythonLayout& layout = runtime_->layout;
  uint32_t outer = now.count;  // so many inner frames need a look-up
  uint32_t id = 0;
  if (!now.cut && !last.cut) {
    uint32_t theirs = last.count;
    while (outer > 0 && theirs > 0 && now.items[outer - 1] == last.items[theirs - 1]) {
      const uint64_t print = last.prints[theirs - 1];
      if (print != 0 &&
          PythonCodes::fingerprintOf(layout, now.items[outer - 1].code & ~kEntry) != print) {
        break;
      }
      --outer;
      --theirs;
      now.ids[outer] = id = last.ids[theirs];
      now.prints[outer] = print;
    }
  } else if (now.cut) {
    id =
        paths_->child(0, otherFrame(FrameWordKind::kCut, static_cast<uint64_t>(WalkEnd::kTooDeep)));
    if (id == 0) return 0;
  }
  while (outer > 0) {
    const Item& item = now.items[--outer];
    const uint64_t code = item.code & ~kEntry;
    const PythonCodes::Known known = codes_->number(code, locked);
    if (known.number == 0) return 0;
    const uint64_t begin = code + layout.code_instructions;
    const uint64_t place = item.instruction < begin ? 0 : (item.instruction - begin) / kPythonUnit;
    id = paths_->child(id, pythonFrame(known.number, (item.code & kEntry) != 0, place));
    if (id == 0) return 0;
    now.ids[outer] = id;
    now.prints[outer] = known.print;
  }
  return id;
}

uint32_t PythonFrames::merge(uint32_t native, uint32_t python) {
  const uint32_t id = paths_->child(native, otherFrame(FrameWordKind::kMerge, python));
  if (id == 0) {
    ++lost_;
    return native;
  }
  merged_native_ = native;
  merged_python_ = python;
  return merged_ = id;
}

void PythonFrames::restart() {
  codes_->restart();
  merged_ = merged_native_ = merged_python_ = 0;
  walks_[0].count = walks_[1].count = 0;
}

}  // namespace tracesmith::stacks
