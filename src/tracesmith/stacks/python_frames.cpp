// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python_frames.hpp"

#include <string.h>
#include <sys/mman.h>

#include <new>

namespace tracesmith::stacks {
namespace {

/// Of threads that have ended, with code objects still to be let go.
std::atomic<PythonFrames*> g_retired{nullptr};
std::atomic<uint32_t> g_next_number{1};  // of code objects, in this process

constexpr uint64_t kEntry = 1;
/// 3.14 keeps what kind of reference it is in these bits of a pointer to an object.
constexpr uint64_t kTagBits = 3;
constexpr uint32_t kMostBetweenLooks = 4096;
constexpr uint64_t kUnit = 2;  // bytes of an instruction

void* object(uint64_t address) { return reinterpret_cast<void*>(address); }

/// Reads what a walk needs as it is: the layout has been seen to be right.
struct PlainMemory {
  template <class T>
  static bool read(uint64_t address, T& out) {
    memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
    return true;
  }
  static bool isCode(uint64_t, uint64_t, const PythonRuntime&) { return true; }
};

/// Reads what may be anything, and looks at what it is: for the first walk.
struct DoubtfulMemory {
  /// The code that the interpreter puts around __init__ does not say how long it is.
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
    // A frame that has not begun may be one unit before its code.
    const uint64_t place = instruction + kUnit - (code + runtime.layout.code_instructions);
    return type == reinterpret_cast<uint64_t>(runtime.code_type) && units >= 0 &&
           units < INT32_MAX && place <= kUnit * (static_cast<uint64_t>(units) + kSlack) &&
           place % kUnit == 0 && traceable >= 0 && traceable <= units + kSlack;
  }
};

uint32_t codePlace(uint64_t address) {
  return static_cast<uint32_t>(((address >> 4) * 0x9e3779b97f4a7c15u) >> 51);
}

/// `c` in UTF-8, at most 4 bytes. Half a surrogate pair, with which Python keeps bytes that are no
/// text, becomes the replacement character.
uint32_t putUtf8(uint32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) c = 0xfffd;
  const uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out[0] = static_cast<char>(0xff00u >> (more + 1) | c >> 6 * more);
  for (uint32_t i = 1; i <= more; ++i) {
    out[i] = static_cast<char>(0x80 | (c >> 6 * (more - i) & 0x3f));
  }
  return more + 1;
}

}  // namespace

PythonFrames* PythonFrames::make(CallPathCache* paths, const PythonOptions& options,
                                 const PythonSink& sink) {
  static_assert(kCodePlaces == 1u << 13);
  void* const place = mmap(nullptr, sizeof(PythonFrames), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  return new (place) PythonFrames(paths, options, sink);
}

PythonFrames::PythonFrames(CallPathCache* paths, const PythonOptions& options,
                           const PythonSink& sink)
    : paths_(paths), options_(options), sink_(sink) {
  if (options_.max_depth == 0) options_.max_depth = 1;
  if (options_.max_depth > CallPathCache::kMostFrames) {
    options_.max_depth = CallPathCache::kMostFrames;
  }
}

void PythonFrames::destroy(PythonFrames* frames) {
  if (frames == nullptr) return;
  if (frames->code_count_ == 0) {
    munmap(frames, sizeof *frames);
    return;
  }
  frames->next_retired_ = g_retired.load(std::memory_order_relaxed);
  while (!g_retired.compare_exchange_weak(frames->next_retired_, frames, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

uint32_t PythonFrames::capture() {
  if (runtime_ == nullptr || foundPython() == nullptr) return captureWithoutPython();
  void* const thread = runtime_->threadThatHoldsLock();
  if (thread == nullptr || busy_) return 0;
  if (__builtin_expect(!isKnown(thread), 0) && !enter(thread)) {
    ++lost_;
    return 0;
  }
  const Walk& last = walks_[last_];
  if (last.count != 0 && isAsIn(last, reinterpret_cast<uint64_t>(thread))) return last.ids[0];
  Walk& now = walks_[last_ ^ 1];
  walk(reinterpret_cast<uint64_t>(thread), PlainMemory(), now);
  if (now.count == 0) return 0;
  const uint32_t id = number(now, last);
  if (id == 0) {
    ++lost_;
    walks_[last_].count = 0;
    return 0;
  }
  last_ ^= 1;
  return id;
}

/// Whether the thread is in the interpreter that it was in the last time. An ended one's place in
/// memory may be another's.
bool PythonFrames::isKnown(void* thread) const {
  if (interpreter_ == 0 || begin_anew_) return false;
  uint64_t interpreter = 0;
  PlainMemory::read(reinterpret_cast<uint64_t>(thread) + runtime_->layout.thread_interpreter,
                    interpreter);
  return interpreter == interpreter_ &&
         runtime_->interpreter_id(object(interpreter)) == interpreter_id_;
}

/// Until there is an interpreter: looks for one now and then, ever more rarely.
uint32_t PythonFrames::captureWithoutPython() {
  if (runtime_ != nullptr || options_.lock == TableLock::kNever) return 0;
  const uint32_t n = ++misses_;
  if (n < kMostBetweenLooks ? (n & (n - 1)) != 0 : n % kMostBetweenLooks != 0) return 0;
  lookForPython();
  runtime_ = foundPython();
  return runtime_ == nullptr ? 0 : capture();
}

/// Comes to an interpreter: the first, or another one. False when its frames can not be told.
bool PythonFrames::enter(void* thread) {
  const auto state = reinterpret_cast<uint64_t>(thread);
  const auto interpreter = reinterpret_cast<uint64_t>(runtime_->thread_interpreter(thread));
  if (pythonStatus() != PythonStatus::kReady) {
    uint64_t read = 0;
    Walk& seen = walks_[last_ ^ 1];
    const bool right = DoubtfulMemory::read(state + runtime_->layout.thread_interpreter, read) &&
                       read == interpreter && walk(state, DoubtfulMemory(), seen);
    if (right && seen.count == 0) return false;  // that shows nothing
    setPythonProven(right);
    if (!right) return false;
  }
  const int64_t id = runtime_->interpreter_id(object(interpreter));
  const bool same = interpreter == interpreter_ && id == interpreter_id_;
  if (!same && moves_ == kMostMoves) return false;
  // What another interpreter's lock protects is not to be touched under this one's: it stays held.
  // That must have a bound, for threads that take turns at interpreters.
  if (!same) ++moves_;
  begin_anew_ = false;
  forgetCodes(same);
  interpreter_ = interpreter;
  interpreter_id_ = id;
  return true;
}

/// Whether a walk would find what `last` has. Code objects of the last walk are held, so that an
/// instruction's address says whose it is.
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
      if (instruction != last.items[i].instruction || entry != (last.items[i].code & kEntry)) {
        return false;
      }
      ++i;
    }
    if (previous == 0) return i == last.count && !last.cut;
    frame = previous;
    owner = previous_owner;
  }
  // A frame with code that lies outside of these is one more.
  while (owner >= kOwnedByC) {
    at(frame + layout.frame_previous, frame);
    if (frame == 0) return !last.cut;
    at(frame + layout.frame_owner, owner);
  }
  return last.cut;
}

/// The frames of a thread, innermost first. False when memory does not hold what it should.
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
      // The interpreter itself shows no frame that has not come to its first line, nor the one it
      // puts around __init__. For an entry it must be told that the C function was entered.
      const uint64_t begins =
          code + layout.code_instructions + kUnit * static_cast<uint32_t>(traceable);
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

/// The number of a walk's path. What is outermost is mostly as it was in the last one.
uint32_t PythonFrames::number(Walk& now, const Walk& last) {
  uint32_t outer = now.count;  // of this many, the numbers are to be found
  uint32_t id = 0;
  if (!now.cut && !last.cut) {
    uint32_t theirs = last.count;
    while (outer > 0 && theirs > 0 && now.items[outer - 1] == last.items[theirs - 1]) {
      --outer;
      --theirs;
      now.ids[outer] = id = last.ids[theirs];
    }
  } else if (now.cut) {
    id =
        paths_->child(0, otherFrame(FrameWordKind::kCut, static_cast<uint64_t>(WalkEnd::kTooDeep)));
    if (id == 0) return 0;
  }
  while (outer > 0) {
    const Item& item = now.items[--outer];
    const uint64_t code = item.code & ~kEntry;
    const uint32_t code_number = codeNumber(code);
    if (code_number == 0) return 0;
    const uint64_t begin = code + runtime_->layout.code_instructions;
    const uint64_t place = item.instruction < begin ? 0 : (item.instruction - begin) / kUnit;
    id = paths_->child(id, pythonFrame(code_number, (item.code & kEntry) != 0, place));
    if (id == 0) return 0;
    now.ids[outer] = id;
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

/// The number of a code object; 0 when it could not be told.
uint32_t PythonFrames::codeNumber(uint64_t code) {
  uint32_t i = codePlace(code);
  for (; codes_[i].address != 0; i = (i + 1) % kCodePlaces) {
    if (codes_[i].address == code) return codes_[i].number;
  }
  if (g_retired.load(std::memory_order_relaxed) != nullptr) releaseRetired();
  if (code_count_ == kMostCodes) {
    // Frames hold those that are running; numbers that paths have already are not used again.
    forgetCodes(true);
    i = codePlace(code);
  }
  const uint32_t number = g_next_number.fetch_add(1, std::memory_order_relaxed);
  if (!tell(code, number)) return 0;
  runtime_->hold(object(code));
  codes_[i] = {code, number};
  ++code_count_;
  return number;
}

bool PythonFrames::tell(uint64_t code, uint32_t number) {
  const PythonRuntime& r = *runtime_;
  if (!interpreter_told_ && sink_.interpreter != nullptr &&
      !sink_.interpreter(sink_.context, r.interpreter)) {
    return false;
  }
  interpreter_told_ = true;
  uint64_t type = 0;
  uint64_t name = 0;
  uint64_t file = 0;
  uint64_t table = 0;
  PythonCode out;
  out.number = number;
  PlainMemory::read(code + kObjectType, type);
  if (type != reinterpret_cast<uint64_t>(r.code_type)) return false;
  PlainMemory::read(code + r.layout.code_qualname, name);
  PlainMemory::read(code + r.layout.code_filename, file);
  PlainMemory::read(code + r.layout.code_line_table, table);
  PlainMemory::read(code + r.layout.code_first_line, out.first_line);
  out.qualified_name = text(name, name_, kMostNameBytes);
  out.file = text(file, file_, kMostFileBytes);
  if (table != 0) {
    PlainMemory::read(table + kObjectType, type);
    if (type == reinterpret_cast<uint64_t>(r.bytes_type)) {
      out.line_table = reinterpret_cast<const uint8_t*>(r.bytes(object(table)));
      out.line_table_bytes = static_cast<uint64_t>(r.bytes_size(object(table)));
    }
  }
  return sink_.code(sink_.context, out);
}

/// A text of Python. It is asked for letter by letter: to have it as UTF-8 at once, Python would
/// allocate what it then keeps.
std::string_view PythonFrames::text(uint64_t text, char* out, uint32_t most) const {
  uint64_t type = 0;
  if (text == 0) return {};
  PlainMemory::read(text + kObjectType, type);
  if (type != reinterpret_cast<uint64_t>(runtime_->text_type)) return {};
  const int64_t length = runtime_->text_length(object(text));
  uint32_t bytes = 0;
  for (int64_t i = 0; i < length && bytes + 4 <= most; ++i) {
    bytes += putUtf8(runtime_->text_char(object(text), i), out + bytes);
  }
  return {out, bytes};
}

void PythonFrames::beginAnew() {
  begin_anew_ = true;
  interpreter_told_ = false;
  merged_ = merged_native_ = merged_python_ = 0;
  walks_[0].count = walks_[1].count = 0;
}

/// Gives up all numbers and, where that may be, what is held for them.
void PythonFrames::forgetCodes(bool release) {
  walks_[last_].count = 0;
  const uint32_t count = code_count_;
  code_count_ = 0;
  if (count == 0) return;
  busy_ = true;
  for (Code& code : codes_) {
    const uint64_t address = code.address;
    if (address == 0) continue;
    code = {};
    if (release) runtime_->release(object(address));
  }
  busy_ = false;
}

/// Lets go what threads that have ended held of this thread's interpreter.
void PythonFrames::releaseRetired() {
  PythonFrames* frames = g_retired.exchange(nullptr, std::memory_order_acquire);
  while (frames != nullptr) {
    PythonFrames* const next = frames->next_retired_;
    if (frames->interpreter_ == interpreter_ && frames->interpreter_id_ == interpreter_id_) {
      busy_ = true;
      frames->forgetCodes(true);
      busy_ = false;
    }
    destroy(frames);
    frames = next;
  }
}

}  // namespace tracesmith::stacks
