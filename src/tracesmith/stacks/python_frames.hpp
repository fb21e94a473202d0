// SPDX-License-Identifier: Apache-2.0
// The Python frames of the calling thread as a number, like native call stacks (CallPathCache).
//
// The interpreter's frames are read as they lie in its memory, while the thread holds the
// interpreter's lock: no frame objects come to be, nothing is allocated, no Python code runs. Where
// the thread does not hold the lock (a foreign function called by ctypes.CDLL, a thread of a
// library) nothing is told, for nothing keeps frames as they are.
//
// A code object becomes a number when it is first seen; its names and line table are told once, and
// lines are found afterwards (python_lines.hpp). It is held while its number lives, so that no
// other comes to lie at its address.
//
// Part of what enters other people's programs: libc alone; memory comes from mmap when a thread
// begins. Measured by python_frames_bench; docs/stacks.md has what it costs.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/stacks/call_path_cache.hpp"
#include "tracesmith/stacks/python_runtime.hpp"

namespace tracesmith::stacks {

/// A code object, as it is told once. Texts are UTF-8 and, like the table, cut where they are very
/// long; all of it lives until the call returns.
struct PythonCode {
  uint32_t number = 0;  // of this process; not used twice
  int32_t first_line = 0;
  std::string_view qualified_name;
  std::string_view file;
  const uint8_t* line_table = nullptr;  // co_linetable
  uint64_t line_table_bytes = 0;
};

/// Told of what is new, before a path that has it. A call that returns false has lost what it was
/// told, and will be told again.
struct PythonSink {
  bool (*code)(void* context, const PythonCode& code);
  /// Once, before any code. May be null.
  bool (*interpreter)(void* context, const PythonInterpreter& interpreter);
  void* context;
};

struct PythonOptions {
  uint32_t max_depth = 128;  // frames; at most CallPathCache::kMostFrames
  TableLock lock = TableLock::kAllowed;
};

class PythonFrames {
 public:
  /// Numbers that live at a time, with as many code objects held.
  static constexpr uint32_t kMostCodes = 4096;

  /// nullptr without memory. One for each thread, on top of its cache of paths, which must outlive
  /// it; must be given to destroy() by anyone afterwards.
  static PythonFrames* make(CallPathCache* paths, const PythonOptions& options,
                            const PythonSink& sink);
  /// The code objects that it held are let go by whoever next sees new code under the lock.
  static void destroy(PythonFrames* frames);

  /// The path of the Python frames that are running on the calling thread, outermost first, in
  /// words of pythonFrame(). 0: there are none, or they can not be told. [hot]
  uint32_t capture();

  /// A stack's number with the Python frames that belong to it: `native`, followed by a word
  /// kMerge; or `native` itself where there are none. [hot]
  uint32_t captureOnto(uint32_t native) {
    const uint32_t python = capture();
    if (python == 0) return native;
    if (native == merged_native_ && python == merged_python_) return merged_;
    return merge(native, python);
  }

  /// To be called where what the sinks were told is no longer known, as in a forked child, after
  /// CallPathCache::beginAnew().
  void beginAnew();

  /// How often there were frames which could not be told.
  uint64_t lost() const { return lost_; }
  /// Numbers that live.
  uint32_t codes() const { return code_count_; }

 private:
  // As in CallPathCache: no initial values for what is large, the memory is zeros.
  struct Item {
    uint64_t instruction;  // its address
    uint64_t code;         // the code object's address, and in bit 0 whether it is an entry
    bool operator==(const Item&) const = default;
  };
  struct Walk {
    Item items[CallPathCache::kMostFrames];  // innermost first
    uint32_t ids[CallPathCache::kMostFrames];
    uint32_t count;
    bool cut;
  };
  struct Code {
    uint64_t address;  // 0: none
    uint32_t number;
  };
  static constexpr uint32_t kCodePlaces = 2 * kMostCodes;
  static constexpr uint32_t kMostNameBytes = 1024;
  static constexpr uint32_t kMostFileBytes = 4096;
  static constexpr uint32_t kMostMoves = 64;

  PythonFrames(CallPathCache* paths, const PythonOptions& options, const PythonSink& sink);

  uint32_t captureWithoutPython();
  bool isKnown(void* thread) const;
  bool enter(void* thread);
  bool isAsIn(const Walk& last, uint64_t thread) const;
  template <class Memory>
  bool walk(uint64_t thread, const Memory& memory, Walk& out) const;
  uint32_t number(Walk& now, const Walk& last);
  uint32_t merge(uint32_t native, uint32_t python);
  uint32_t codeNumber(uint64_t code);
  bool tell(uint64_t code, uint32_t number);
  std::string_view text(uint64_t object, char* out, uint32_t most) const;
  void forgetCodes(bool release);
  void releaseRetired();

  CallPathCache* paths_;
  PythonOptions options_;
  PythonSink sink_;
  const PythonRuntime* runtime_ = nullptr;
  uint64_t interpreter_ = 0;  // whose code objects are held
  int64_t interpreter_id_ = 0;
  uint32_t moves_ = 0;
  uint32_t misses_ = 0;
  uint32_t code_count_ = 0;
  uint32_t merged_native_ = 0;
  uint32_t merged_python_ = 0;
  uint32_t merged_ = 0;
  uint32_t last_ = 0;  // which of the walks
  bool interpreter_told_ = false;
  bool begin_anew_ = false;
  bool busy_ = false;  // what is let go may run code, which may come here again
  uint64_t lost_ = 0;
  PythonFrames* next_retired_ = nullptr;
  Walk walks_[2];
  Code codes_[kCodePlaces];
  char name_[kMostNameBytes];
  char file_[kMostFileBytes];
};

}  // namespace tracesmith::stacks
