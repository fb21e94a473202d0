// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_codes.hpp"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "tracesmith/stacks/python/python_text.hpp"

namespace tracesmith::stacks {
namespace {

/// Lists of threads that have ended, with code objects still to be released.
std::atomic<PythonCodes*> g_ended{nullptr};
std::atomic<uint32_t> g_next_number{1};  // of code objects, in this process

void* pointerTo(uint64_t address) { return reinterpret_cast<void*>(address); }

template <class T>
void read(uint64_t address, T& out) {
  memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
}

uint32_t codeSlot(uint64_t address) {
  return static_cast<uint32_t>(((address >> 4) * 0x9e3779b97f4a7c15u) >> 51);
}

}  // namespace

PythonCodes* PythonCodes::make(const PythonSink& sink) {
  static_assert(kSlots == 1u << 13);
  void* const place = mmap(nullptr, sizeof(PythonCodes), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return place == MAP_FAILED ? nullptr : new (place) PythonCodes(sink);
}

void PythonCodes::destroy(PythonCodes* codes) {
  if (codes == nullptr) return;
  codes->forget();
  if (codes->to_release_count_ == 0) {
    munmap(codes, sizeof *codes);
    return;
  }
  codes->next_ended_ = g_ended.load(std::memory_order_relaxed);
  while (!g_ended.compare_exchange_weak(codes->next_ended_, codes, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

bool PythonCodes::enter(const PythonRuntime* runtime, uint64_t interpreter, int64_t id) {
  if (interpreter != interpreter_ || id != interpreter_id_) {
    if (moves_ == kMostMoves) return false;
    ++moves_;
    // Under this interpreter's lock, references that another interpreter's lock protects must not
    // be released: they stay held. kMostMoves limits that for threads that alternate between
    // interpreters.
    forget();
    to_release_count_ = 0;
  } else {
    forget();
  }
  restart_pending_ = false;
  interpreter_written_ = false;
  runtime_ = runtime;
  interpreter_ = interpreter;
  interpreter_id_ = id;
  return true;
}

PythonCodes::Known PythonCodes::number(uint64_t code, bool locked) {
  uint32_t i = codeSlot(code);
  while (codes_[i].address != 0 && codes_[i].address != code) i = (i + 1) % kSlots;
  Code* known = &codes_[i];
  const bool was_here = known->address == code;
  if (was_here && (known->print == 0 || known->print == fingerprintOf(runtime_->layout, code))) {
    if (locked && known->print != 0) {
      runtime_->hold(pointerTo(code));
      known->print = 0;
    }
    return {known->number, known->print};
  }
  if (locked) {
    releaseReferences();
    releaseEnded();
  }
  if (!was_here && count_ == kMostCodes) {
    // Frames hold the code objects that are running; numbers already in paths are never reused.
    forget();
    if (locked) releaseReferences();
    known = &codes_[codeSlot(code)];
  }
  const uint32_t number = g_next_number.fetch_add(1, std::memory_order_relaxed);
  if (!writeCode(code, number)) return {};
  if (locked) runtime_->hold(pointerTo(code));
  *known = {code, locked ? 0 : fingerprintOf(runtime_->layout, code), number};
  if (!was_here) ++count_;
  return {number, known->print};
}

bool PythonCodes::writeCode(uint64_t code, uint32_t number) {
  const PythonRuntime& r = *runtime_;
  if (!interpreter_written_ && sink_.interpreter != nullptr &&
      !sink_.interpreter(sink_.context, r.interpreter)) {
    return false;
  }
  interpreter_written_ = true;
  uint64_t type = 0;
  uint64_t name = 0;
  uint64_t file = 0;
  uint64_t table = 0;
  PythonCode out;
  out.number = number;
  read(code + kObjectType, type);
  if (type != reinterpret_cast<uint64_t>(r.code_type)) return false;
  read(code + r.layout.code_qualname, name);
  read(code + r.layout.code_filename, file);
  read(code + r.layout.code_line_table, table);
  read(code + r.layout.code_first_line, out.first_line);
  out.qualified_name = text(name, name_, kMostNameBytes);
  out.file = text(file, file_, kMostFileBytes);
  if (table != 0) {
    read(table + kObjectType, type);
    if (type == reinterpret_cast<uint64_t>(r.bytes_type)) {
      out.line_table = reinterpret_cast<const uint8_t*>(r.bytes(pointerTo(table)));
      out.line_table_bytes = static_cast<uint64_t>(r.bytes_size(pointerTo(table)));
    }
  }
  return sink_.code(sink_.context, out);
}

/// Copies a Python text character by character: Python's own conversion to UTF-8 would allocate
/// memory and keep it.
std::string_view PythonCodes::text(uint64_t text, char* out, uint32_t most) const {
  uint64_t type = 0;
  if (text == 0) return {};
  read(text + kObjectType, type);
  if (type != reinterpret_cast<uint64_t>(runtime_->text_type)) return {};
  const int64_t length = runtime_->text_length(pointerTo(text));
  uint32_t bytes = 0;
  for (int64_t i = 0; i < length && bytes + 4 <= most; ++i) {
    bytes += putUtf8(runtime_->text_char(pointerTo(text), i), out + bytes);
  }
  return {out, bytes};
}

/// Forgets all numbers; the references held for them can then be released.
void PythonCodes::forget() {
  if (count_ == 0) return;
  ++generation_;
  count_ = 0;
  for (Code& code : codes_) {
    // If there was no lock for so long that the list is full, the remaining references stay held.
    if (code.address != 0 && code.print == 0 && to_release_count_ < kMostCodes) {
      to_release_[to_release_count_++] = code.address;
    }
    code = {};
  }
}

void PythonCodes::releaseReferences() {
  if (to_release_count_ == 0) return;
  const bool was_busy = busy_;
  const int before = errno;
  busy_ = true;
  while (to_release_count_ > 0) runtime_->release(pointerTo(to_release_[--to_release_count_]));
  busy_ = was_busy;
  errno = before;
}

/// Releases what ended threads held of this thread's interpreter.
void PythonCodes::releaseEnded() {
  if (g_ended.load(std::memory_order_relaxed) == nullptr) return;
  PythonCodes* codes = g_ended.exchange(nullptr, std::memory_order_acquire);
  busy_ = true;
  while (codes != nullptr) {
    PythonCodes* const next = codes->next_ended_;
    if (codes->interpreter_ == interpreter_ && codes->interpreter_id_ == interpreter_id_) {
      codes->releaseReferences();
    }
    destroy(codes);
    codes = next;
  }
  busy_ = false;
}

}  // namespace tracesmith::stacks
