// SPDX-License-Identifier: Apache-2.0
// Reads of a stack that cannot fault, and the list of what was read.
//
// Runs inside the recorded program: uses only libc, no allocation, no lock; async-signal-safe
// except for findThreadStack().
#pragma once

#include <cstdint>

namespace tracesmith::stacks {

/// The calling thread's stack: addresses [low, high). Both 0: unknown.
struct ThreadStack {
  uint64_t low = 0;
  uint64_t high = 0;
  bool has(uint64_t address) const { return address - low < high - low; }
};

/// May allocate, once per thread.
ThreadStack findThreadStack();

/// Whether the 8 bytes at `address` can be read; uses a system call.
bool isReadable(uint64_t address);

/// What a walk reads: words of a stack, and of code.
class WordSource {
 public:
  /// Reads the word at `address`; false when it cannot be read.
  virtual bool read(uint64_t address, uint64_t& out) = 0;
  /// Notes that the result of the walk depends on this word. False when there is no space for it.
  virtual bool note(uint64_t address, uint64_t value) = 0;

 protected:
  ~WordSource() = default;
};

/// The memory of this process. The thread's own stack, from the start of the walk, is read
/// directly. Other memory is checked first, page by page.
class StackMemory final : public WordSource {
 public:
  static constexpr uint32_t kMostSlots = 1024;

  /// Starts a walk at stack pointer `sp`.
  void begin(const ThreadStack& stack, uint64_t sp) {
    low_ = sp;
    bytes_ = stack.has(sp) ? stack.high - sp : 0;
    page_ = 0;
    outside_ = false;
    count_ = 0;
  }

  /// Excluded from AddressSanitizer, because the word may belong to any object.
  __attribute__((no_sanitize("address"))) bool read(uint64_t address, uint64_t& out) override {
    const uint64_t at = address - low_;
    if (__builtin_expect(at >= bytes_ || bytes_ - at < 8, 0) && !mayRead(address)) return false;
    __builtin_memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
    return true;
  }

  bool note(uint64_t address, uint64_t value) override {
    if (count_ == kMostSlots) return false;
    addresses_[count_] = address;
    values_[count_++] = value;
    return true;
  }
  uint32_t count() const { return count_; }
  const uint64_t* addresses() const { return addresses_; }
  const uint64_t* values() const { return values_; }

  /// Whether memory outside the thread's own stack was read: it may be gone the next time.
  bool outside() const { return outside_; }
  /// Whether the stack is not the thread's own (a coroutine's, a signal handler's).
  bool foreign() const { return bytes_ == 0; }

 private:
  bool mayRead(uint64_t address);

  uint64_t low_ = 0;
  uint64_t bytes_ = 0;
  uint64_t page_ = 0;  // known to be readable
  bool outside_ = false;
  uint32_t count_ = 0;
  uint64_t addresses_[kMostSlots];
  uint64_t values_[kMostSlots];
};

}  // namespace tracesmith::stacks
