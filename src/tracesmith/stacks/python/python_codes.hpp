// SPDX-License-Identifier: Apache-2.0
// Numbers for Python's code objects; each new object is reported once per thread.
//
// An address alone does not identify a code object, because another one may be allocated there
// later. Under the interpreter's lock a reference to the code object is held while its number is in
// use. Without the lock no reference may be taken. A fingerprint of the object's fields (print) is
// then compared each time, until the object is seen under the lock.
//
// Runs inside the recorded program: uses only libc; memory comes from mmap when a thread starts.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/stacks/python/python_runtime.hpp"

namespace tracesmith::stacks {

/// A code object as it is reported, once. Texts are UTF-8; very long ones are cut. All data is
/// valid during the call only.
struct PythonCode {
  uint32_t number = 0;  // unique in this process; never reused
  int32_t first_line = 0;
  std::string_view qualified_name;
  std::string_view file;
  const uint8_t* line_table = nullptr;  // co_linetable
  uint64_t line_table_bytes = 0;
};

/// Receives what is new, before a path that refers to it. A call that returns false has lost its
/// data and will be repeated.
struct PythonSink {
  bool (*code)(void* context, const PythonCode& code);
  /// Called once, before any code. May be null.
  bool (*interpreter)(void* context, const PythonInterpreter& interpreter);
  void* context;
};

class PythonCodes {
 public:
  /// Most numbers in use at a time, and most code objects held.
  static constexpr uint32_t kMostCodes = 4096;

  struct Known {
    uint32_t number = 0;  // 0: it could not be reported
    uint64_t print = 0;   // must be compared before the number is used again; 0: the object is held
  };

  /// nullptr without memory. One for each thread.
  static PythonCodes* make(const PythonSink& sink);
  /// References that are held are released by the next thread that sees new code under the lock.
  static void destroy(PythonCodes* codes);

  /// Whether the numbers belong to this interpreter. [hot]
  bool isOf(uint64_t interpreter, int64_t id) const {
    return interpreter == interpreter_ && id == interpreter_id_ && !restart_pending_;
  }
  /// Switches to an interpreter, the first or another one. False: too many switches.
  bool enter(const PythonRuntime* runtime, uint64_t interpreter, int64_t id);

  /// The number of a code object that a frame of this thread is running. `locked`: under the
  /// interpreter's lock.
  Known number(uint64_t code, bool locked);

  /// Fingerprint that distinguishes a code object from another one at the same address. Never 0.
  /// [hot]
  static uint64_t fingerprintOf(const PythonLayout& layout, uint64_t code);

  void restart() { restart_pending_ = true; }
  /// Changes when numbers are forgotten.
  uint64_t generation() const { return generation_; }
  uint32_t count() const { return count_; }
  /// True while references are released: that runs code, which may call this object again.
  bool isBusy() const { return busy_; }

 private:
  // No initial values for large members: the memory is zeros.
  struct Code {
    uint64_t address;  // 0: none
    uint64_t print;    // 0: held
    uint32_t number;
  };
  static constexpr uint32_t kSlots = 2 * kMostCodes;
  static constexpr uint32_t kMostNameBytes = 1024;
  static constexpr uint32_t kMostFileBytes = 4096;
  static constexpr uint32_t kMostMoves = 64;

  explicit PythonCodes(const PythonSink& sink) : sink_(sink) {}

  bool writeCode(uint64_t code, uint32_t number);
  std::string_view text(uint64_t object, char* out, uint32_t most) const;
  void forget();
  void releaseReferences();
  void releaseEnded();

  PythonSink sink_;
  const PythonRuntime* runtime_ = nullptr;
  uint64_t interpreter_ = 0;  // interpreter of the held code objects
  int64_t interpreter_id_ = 0;
  uint64_t generation_ = 0;
  uint32_t moves_ = 0;
  uint32_t count_ = 0;
  bool interpreter_written_ = false;
  bool restart_pending_ = false;
  bool busy_ = false;
  PythonCodes* next_ended_ = nullptr;
  uint32_t to_release_count_ = 0;
  uint64_t to_release_[kMostCodes];
  Code codes_[kSlots];
  char name_[kMostNameBytes];
  char file_[kMostFileBytes];
};

inline uint64_t PythonCodes::fingerprintOf(const PythonLayout& layout, uint64_t code) {
  const auto at = [code](uint32_t where) {
    uint64_t word = 0;
    __builtin_memcpy(&word, reinterpret_cast<const void*>(code + where), sizeof word);
    return word;
  };
  uint32_t line = 0;
  __builtin_memcpy(&line, reinterpret_cast<const void*>(code + layout.code_first_line),
                   sizeof line);
  uint64_t h = (at(layout.code_qualname) ^ line) * 0x9e3779b97f4a7c15u;
  h = ((h ^ h >> 32) + at(layout.code_filename)) * 0xff51afd7ed558ccdu;
  h = ((h ^ h >> 32) + at(layout.code_line_table) + (at(kObjectSize) << 48)) * 0x9e3779b97f4a7c15u;
  return h | 1;
}

}  // namespace tracesmith::stacks
