// SPDX-License-Identifier: Apache-2.0
// The recorder's containers: small tables that never throw. If memory runs out, insert() returns
// nullptr.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include <type_traits>

#include "tracesmith/base/nothrow_list.hpp"

namespace tracesmith::record {

template <class Value>
using List = NothrowList<Value>;

/// Open addressing by a nonzero number (a handle, an address).
template <class Value>
class Table {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  constexpr Table() = default;

  Value* find(uint64_t key) {
    if (size_ == 0 || key == 0) return nullptr;
    for (uint64_t i = placeOf(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == 0) return nullptr;
    }
  }

  /// A new value for `key`. Its address is valid until the next insert or erase.
  Value* insert(uint64_t key) {
    if (key == 0 || ((size_ + 1) * 2 > capacity() && !grow())) return nullptr;
    uint64_t i = placeOf(key);
    while (slots_[i].key != 0 && slots_[i].key != key) i = (i + 1) & mask_;
    if (slots_[i].key == 0) ++size_;
    slots_[i].key = key;
    slots_[i].value = Value{};
    return &slots_[i].value;
  }

  void erase(uint64_t key) {
    if (size_ == 0 || key == 0) return;
    uint64_t hole = placeOf(key);
    while (slots_[hole].key != key) {
      if (slots_[hole].key == 0) return;
      hole = (hole + 1) & mask_;
    }
    // Move back entries that the erased one had displaced.
    for (uint64_t i = (hole + 1) & mask_; slots_[i].key != 0; i = (i + 1) & mask_) {
      const uint64_t home = placeOf(slots_[i].key);
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole].key = 0;
    --size_;
  }

  uint64_t size() const { return size_; }

  /// Calls f(key, value&), which must not change the table. Stops when f returns false.
  template <class F>
  void forEach(F&& f) {
    for (uint64_t i = 0; size_ != 0 && i <= mask_; ++i) {
      if (slots_[i].key != 0 && !f(slots_[i].key, slots_[i].value)) return;
    }
  }

 private:
  struct Slot {
    uint64_t key;
    Value value;
  };
  uint64_t capacity() const { return slots_ == nullptr ? 0 : mask_ + 1; }
  uint64_t placeOf(uint64_t key) const { return (key * 0x9E3779B97F4A7C15ull >> 20) & mask_; }
  bool grow() {
    const uint64_t wanted = slots_ == nullptr ? 64 : (mask_ + 1) * 2;
    auto* fresh = static_cast<Slot*>(calloc(wanted, sizeof(Slot)));
    if (fresh == nullptr) return false;
    Slot* const old = slots_;
    const uint64_t old_capacity = capacity();
    slots_ = fresh;
    mask_ = wanted - 1;
    for (uint64_t i = 0; i < old_capacity; ++i) {
      if (old[i].key == 0) continue;
      uint64_t at = placeOf(old[i].key);
      while (slots_[at].key != 0) at = (at + 1) & mask_;
      slots_[at] = old[i];
    }
    free(old);
    return true;
  }

  Slot* slots_ = nullptr;
  uint64_t mask_ = 0;
  uint64_t size_ = 0;
};

}  // namespace tracesmith::record
