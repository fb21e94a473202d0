// SPDX-License-Identifier: Apache-2.0
// The Python frames of the calling thread as a number, like native call stacks (CallPathCache).
//
// The interpreter's frames are read directly from its memory: no frame objects are created, nothing
// is allocated, no Python code runs. All memory that is read belongs to the calling thread, and no
// other thread changes it during the call. This holds with the interpreter's lock and also without
// it, as in most libraries that launch work. Only new code objects are treated differently without
// the lock (PythonCodes). Source lines are found afterwards (python_lines.hpp).
//
// Runs inside the recorded program: uses only libc; memory comes from mmap when a thread starts.
// Measured by python_frames_bench; docs/stacks.md has the cost.
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
  /// nullptr without memory. One for each thread, using the thread's cache of paths, which must
  /// outlive it. The caller must pass it to destroy() afterwards, on any thread.
  static PythonFrames* make(CallPathCache* paths, const PythonOptions& options,
                            const PythonSink& sink);
  static void destroy(PythonFrames* frames);

  /// The path of the Python frames that are running on the calling thread, outermost first, in
  /// words of pythonFrame(). 0: there are none, or they cannot be read. [hot]
  uint32_t capture();

  /// The number of a stack with its Python frames: `native` followed by a word kMerge, or `native`
  /// itself when there are no Python frames. [hot]
  uint32_t captureOnto(uint32_t native) {
    const uint32_t python = capture();
    if (python == 0) return native;
    if (native == merged_native_ && python == merged_python_) return merged_;
    return merge(native, python);
  }

  /// Call it when what the sinks received is no longer known, as in a forked child, after
  /// CallPathCache::restart().
  void restart();

  /// Number of captures whose Python frames could not be read.
  uint64_t lost() const { return lost_; }
  /// Numbers in use.
  uint32_t codes() const { return codes_->count(); }

 private:
  // As in CallPathCache: no initial values for large members, the memory is zeros.
  struct Item {
    uint64_t instruction;  // address of the instruction
    uint64_t code;         // the code object's address; bit 0: it is an entry frame
    bool operator==(const Item&) const = default;
  };
  struct Walk {
    Item items[CallPathCache::kMostFrames];  // innermost first
    uint32_t ids[CallPathCache::kMostFrames];
    uint64_t prints[CallPathCache::kMostFrames];  // see PythonCodes::Known
    uint64_t generation;                          // of PythonCodes
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
  uint32_t last_ = 0;  // index of the last walk
  bool entered_ = false;
  uint64_t lost_ = 0;
  Walk walks_[2];
};

}  // namespace tracesmith::stacks
