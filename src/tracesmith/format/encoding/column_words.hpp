// SPDX-License-Identifier: Apache-2.0
// Columns as 64-bit words, the only form that encoders handle, whatever the type of the column.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "tracesmith/format/encoding/sbt_layout.hpp"

namespace tracesmith::sbt {

template <class T>
struct Underlying {
  using type = T;
};
template <class T>
requires std::is_enum_v<T>
struct Underlying<T> {
  using type = std::underlying_type_t<T>;
};
template <class T>
using UnderlyingOf = typename Underlying<T>::type;

template <class T>
constexpr ElementType elementTypeOf() {
  using U = UnderlyingOf<T>;
  if constexpr (std::is_same_v<U, double>) {
    return ElementType::kF64;
  } else if constexpr (std::is_same_v<U, int64_t>) {
    return ElementType::kI64;
  } else if constexpr (std::is_same_v<U, uint64_t>) {
    return ElementType::kU64;
  } else if constexpr (std::is_same_v<U, uint32_t>) {
    return ElementType::kU32;
  } else {
    static_assert(std::is_same_v<U, uint8_t>, "a column type that SBT has no element type for");
    return ElementType::kU8;
  }
}

template <class T>
uint64_t toWord(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(static_cast<UnderlyingOf<T>>(value));
  }
}

template <class T>
void toWords(const T* values, size_t count, uint64_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = toWord(values[i]);
}

/// Writes `words`, stored as `stored`, to `out` (as many values). False if a value does not fit T.
/// A later version may widen a column, so any integer type is accepted as long as the values fit.
template <class T>
bool fromWords(std::span<const uint64_t> words, ElementType stored, T* out) {
  using U = UnderlyingOf<T>;
  constexpr ElementType kOwn = elementTypeOf<T>();
  if constexpr (std::is_same_v<T, double>) {
    if (stored != kOwn) return false;
    for (size_t i = 0; i < words.size(); ++i) out[i] = std::bit_cast<double>(words[i]);
    return true;
  } else {
    if (stored == ElementType::kF64 || stored == ElementType::kBytes) return false;
    uint64_t limit = std::numeric_limits<uint64_t>::max();
    if (sizeof(U) < 8) {
      limit = std::numeric_limits<U>::max();
    } else if (stored != kOwn && (stored == ElementType::kI64 || kOwn == ElementType::kI64)) {
      limit = std::numeric_limits<int64_t>::max();  // otherwise the sign would be lost or invented
    }
    uint64_t largest = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      largest = words[i] > largest ? words[i] : largest;
      out[i] = static_cast<T>(static_cast<U>(words[i]));
    }
    return largest <= limit;
  }
}

}  // namespace tracesmith::sbt
