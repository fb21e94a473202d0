// SPDX-License-Identifier: Apache-2.0
// The Python frames of the calling thread as a number, like native call stacks (CallPathCache).
//
// The interpreter's frames are read as they lie in its memory: no frame objects come to be, nothing
// is allocated, no Python code runs. What may be read is the calling thread's own, which nobody
// else changes while the thread is here: with the interpreter's lock or, as in most libraries that
// launch work, without it. Only code objects that are new are treated otherwise then (PythonCodes).
// Lines are found afterwards (python_lines.hpp).
//
// Part of what enters other people's programs: libc alone; memory comes from mmap when a thread
// begins. Measured by python_frames_bench; docs/stacks.md has what it costs.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/python/python_codes.hpp"
#include "tracesmith/stacks/unwind/call_path_cache.hpp"

namespace tracesmith::stacks {

struct PythonOptions {
  uint32_t max_depth = 128;  // frames; at most CallPathCache::kMostFrames
  TableLock lock = TableLock::kAllowed;
};

class PythonFrames {
 public:
  /// nullptr without memory. One for each thread, on top of its cache of paths, which must outlive
  /// it; must be given to destroy() by anyone afterwards.
  static PythonFrames* make(CallPathCache* paths, const PythonOptions& options,
                            const PythonSink& sink);
  static void destroy(PythonFrames* frames);

  /// The path of the Python frames that are running on the calling thread, outermost first, in
  /// words of pythonFrame(). 0: there are none, or they cannot be told. [hot]
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
  uint32_t codes() const { return codes_->count(); }

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
    uint64_t prints[CallPathCache::kMostFrames];  // see PythonCodes::Known
    uint64_t generation;                          // of the code objects' numbers
    uint32_t count;
    bool cut;
  };

  PythonFrames(CallPathCache* paths, const PythonOptions& options, PythonCodes* codes);

  uint32_t captureWithoutPython();
  bool isKnown(void* thread) const;
  bool enter(void* thread);
  bool isAsIn(const Walk& last, uint64_t thread) const;
  template <class Memory>
  bool walk(uint64_t thread, const Memory& memory, Walk& out) const;
  uint32_t number(Walk& now, const Walk& last, bool locked);
  uint32_t merge(uint32_t native, uint32_t python);

  CallPathCache* paths_;
  PythonCodes* codes_;
  PythonOptions options_;
  const PythonRuntime* runtime_ = nullptr;
  uint32_t misses_ = 0;
  uint32_t merged_native_ = 0;
  uint32_t merged_python_ = 0;
  uint32_t merged_ = 0;
  uint32_t last_ = 0;  // which of the walks
  bool entered_ = false;
  uint64_t lost_ = 0;
  Walk walks_[2];
};

}  // namespace tracesmith::stacks
