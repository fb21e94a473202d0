// SPDX-License-Identifier: Apache-2.0
// A growing array that never throws and that may be constinit, for code inside a user's program:
// needs the C library only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>

namespace tracesmith {

/// Values in order of insertion. No destructor: call free().
template <class Value>
class NothrowList {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  constexpr NothrowList() = default;
  uint64_t size() const { return size_; }
  const Value* begin() const { return items_; }
  const Value* end() const { return items_ + size_; }
  Value& operator[](uint64_t i) { return items_[i]; }
  const Value& operator[](uint64_t i) const { return items_[i]; }
  Value* begin() { return items_; }
  Value* end() { return items_ + size_; }
  /// False if memory has run out; the list is unchanged then.
  bool add(const Value& value) {
    if (size_ == capacity_) {
      const uint64_t wanted = capacity_ == 0 ? 32 : capacity_ * 2;
      auto* more = static_cast<Value*>(realloc(items_, wanted * sizeof(Value)));
      if (more == nullptr) return false;
      items_ = more;
      capacity_ = wanted;
    }
    items_[size_++] = value;
    return true;
  }
  void erase(uint64_t i) {
    memmove(items_ + i, items_ + i + 1, (size_ - i - 1) * sizeof(Value));
    --size_;
  }
  void clear() { size_ = 0; }
  void shrink(uint64_t size) { size_ = size; }
  void free() {
    ::free(items_);
    *this = {};
  }

 private:
  Value* items_ = nullptr;
  uint64_t size_ = 0;
  uint64_t capacity_ = 0;
};

}  // namespace tracesmith
