// SPDX-License-Identifier: Apache-2.0
// Little-endian bytes, varints (LEB128) and zigzag: the basic encodings of the SBT format.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tracesmith {

static_assert(std::endian::native == std::endian::little,
              "SBT is written from memory without swapping bytes");

using Bytes = std::vector<uint8_t>;

/// Does not initialise elements that are added without a value.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {  // NOLINT(readability-identifier-naming): the standard's
    using other = UninitializedAllocator<U>;  // NOLINT(readability-identifier-naming)
  };
  using std::allocator<T>::allocator;
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};
/// A vector whose resize() does not initialise. Every element must be written before it is read.
template <class T>
using Buffer = std::vector<T, UninitializedAllocator<T>>;
using ByteView = std::span<const uint8_t>;

constexpr size_t kMaxVarintBytes = 10;

constexpr uint64_t zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
constexpr int64_t unzigzag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

/// Writes `v` at `out` (room for kMaxVarintBytes); returns the end.
inline uint8_t* putVarint(uint8_t* out, uint64_t v) {
  while (v >= 0x80) {
    *out++ = static_cast<uint8_t>(v) | 0x80;
    v >>= 7;
  }
  *out++ = static_cast<uint8_t>(v);
  return out;
}

template <class T>
void putFixed(Bytes& out, T v) {
  static_assert(std::is_trivially_copyable_v<T>);
  const size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &v, sizeof(T));
}

template <class T>
T loadFixed(const uint8_t* p) {
  static_assert(std::is_trivially_copyable_v<T>);
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

/// A cursor with bounds checks. A read past the end returns zero, and so do all later reads; ok()
/// is then false.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  template <class T>
  T fixed() {
    if (static_cast<size_t>(end_ - p_) < sizeof(T)) return fail<T>();
    T v = loadFixed<T>(p_);
    p_ += sizeof(T);
    return v;
  }

  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (p_ == end_) return fail<uint64_t>();
      const uint8_t b = *p_++;
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    return fail<uint64_t>();
  }

  ByteView take(size_t n) {
    if (static_cast<size_t>(end_ - p_) < n) {
      fail<int>();
      return {};
    }
    ByteView view(p_, n);
    p_ += n;
    return view;
  }

  bool ok() const { return ok_; }
  size_t remaining() const { return static_cast<size_t>(end_ - p_); }

 private:
  template <class T>
  T fail() {
    ok_ = false;
    p_ = end_;
    return T{};
  }

  const uint8_t* p_;
  const uint8_t* end_;
  bool ok_ = true;
};

inline std::string_view asText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteView asBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace tracesmith
