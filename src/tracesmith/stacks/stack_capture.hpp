// SPDX-License-Identifier: Apache-2.0
// Captures the caller's call stack, optionally with names.
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
  uint32_t skip_frames = 0;        ///< innermost frames to omit, besides StackCapture's own
  bool async_signal_safe = false;  ///< see StackCapture::capture()
  bool resolve_symbols = true;     ///< capture() names the frames at once, unless async_signal_safe
  bool demangle = true;            ///< C++ names as in the source, not as linked
};

/// May be shared by threads; concurrent callers wait for each other only to resolve names.
class StackCapture {
 public:
  explicit StackCapture(const StackCaptureConfig& config = {});
  ~StackCapture();
  StackCapture(const StackCapture&) = delete;
  StackCapture& operator=(const StackCapture&) = delete;

  /// Captures the stack, innermost frame first, starting at the caller; returns the number of
  /// frames. Addresses are return addresses. With async_signal_safe it may be called in a signal
  /// handler. It then takes no lock and does not allocate, and so keeps at most
  /// stack.frames.capacity() frames.
  size_t capture(CallStack& stack);
  /// The same, with a thread id chosen by the caller.
  size_t captureWithThreadId(CallStack& stack, uint64_t thread_id);

  /// Adds function, file and line to each frame as far as they are known. For inlined functions it
  /// names the innermost one. Not for signal handlers.
  void resolveSymbols(CallStack& stack);

  /// The system's id of the calling thread.
  static uint64_t getCurrentThreadId();
  /// Whether stacks can be captured on this kind of processor.
  static bool isAvailable();

 private:
  size_t captureFrom(uint64_t pc, uint64_t sp, uint64_t fp, CallStack& stack);

  StackCaptureConfig config_;
  stacks::CallPathCache* cache_ = nullptr;
  std::atomic_flag in_use_;  // protects the cache; when taken, callers use their own
  std::mutex naming_;
  std::unique_ptr<Symbolizer> symbolizer_;
};

/// The stack at its construction.
class ScopedStackCapture {
 public:
  explicit ScopedStackCapture(StackCapture& capture);
  const CallStack& stack() const { return stack_; }
  bool captured() const { return !stack_.empty(); }

 private:
  CallStack stack_;
};

}  // namespace tracesmith
