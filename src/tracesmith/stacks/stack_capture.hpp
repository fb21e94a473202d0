// SPDX-License-Identifier: Apache-2.0
// The call stack of the code that asks for it, with names if they are wanted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

namespace stacks {
class CallPathCache;
}
class Symbolizer;

struct StackCaptureConfig {
  uint32_t max_depth = 64;         ///< frames, 1 to 512
  uint32_t skip_frames = 0;        ///< innermost ones that are left out, beside StackCapture's own
  bool async_signal_safe = false;  ///< see StackCapture::capture()
  bool resolve_symbols = true;     ///< capture() names the frames at once; not when signal-safe
  bool demangle = true;            ///< C++ names as they are written, not as they are linked
};

/// Any thread may use one; those at the same time take turns only for names.
class StackCapture {
 public:
  explicit StackCapture(const StackCaptureConfig& config = {});
  ~StackCapture();
  StackCapture(const StackCapture&) = delete;
  StackCapture& operator=(const StackCapture&) = delete;

  /// The stack from the caller outwards, innermost frame first; returns how many frames. Addresses
  /// are return addresses. With async_signal_safe it may be called in a signal handler: it takes no
  /// lock and allocates nothing, and therefore keeps at most stack.frames.capacity() frames.
  size_t capture(CallStack& stack);
  /// The same, for a thread that is known by a number of the caller's.
  size_t captureWithThreadId(CallStack& stack, uint64_t thread_id);

  /// Function, file and line of each frame as far as they are known. Of functions that were inlined
  /// the innermost one is named. Not in a signal handler.
  void resolveSymbols(CallStack& stack);

  /// The system's number of the calling thread.
  static uint64_t getCurrentThreadId();
  /// Whether stacks can be taken on this kind of processor.
  static bool isAvailable();

 private:
  size_t captureFrom(uint64_t pc, uint64_t sp, uint64_t fp, CallStack& stack);

  StackCaptureConfig config_;
  stacks::CallPathCache* cache_ = nullptr;
  std::atomic_flag in_use_;  // the cache; who finds it taken uses one of their own
  std::mutex naming_;
  std::unique_ptr<Symbolizer> symbolizer_;
};

/// The stack of the place where it is made.
class ScopedStackCapture {
 public:
  explicit ScopedStackCapture(StackCapture& capture);
  const CallStack& stack() const { return stack_; }
  bool captured() const { return !stack_.empty(); }

 private:
  CallStack stack_;
};

}  // namespace tracesmith
