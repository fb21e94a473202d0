// SPDX-License-Identifier: Apache-2.0
// Encodes protocol buffers directly into space that the caller has reserved. A schema library would
// take two to three times as long per event and add a dependency. The format is short:
// https://protobuf.dev/programming-guides/encoding/.
//
// A nested message first gets one length byte. If its body turns out longer than 127 bytes, the
// body is moved to make room for a longer length. This is rare, because event packets are short.
//
// Measured by perfetto_bench.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/export/output/output.hpp"

namespace tracesmith::proto {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };

constexpr uint32_t tagOf(uint32_t field, WireType type) {
  return field << 3 | static_cast<uint32_t>(type);
}

constexpr size_t varintSize(uint64_t v) {
  size_t n = 1;
  while (v >= 0x80) {
    v >>= 7;
    ++n;
  }
  return n;
}

/// Upper bound of the size of a text field of `n` bytes, including its nesting levels, each of
/// which may need four more length bytes.
constexpr size_t textBound(size_t n) { return n + 32; }

/// Writes fields at `at`. Does not check the available space: reserve an upper bound for the whole
/// message first.
class Cursor {
 public:
  explicit Cursor(uint8_t* at) : p_(at) {}
  uint8_t* at() const { return p_; }

  template <uint32_t kField>
  void uint(uint64_t v) {
    tag<kField, WireType::kVarint>();
    p_ = putVarint(p_, v);
  }
  /// int32, int64 and enums: negative numbers take ten bytes.
  template <uint32_t kField>
  void sint(int64_t v) {
    uint<kField>(static_cast<uint64_t>(v));
  }
  template <uint32_t kField>
  void fixed64(uint64_t v) {
    tag<kField, WireType::kFixed64>();
    std::memcpy(p_, &v, sizeof v);
    p_ += sizeof v;
  }
  template <uint32_t kField>
  void real(double v) {
    fixed64<kField>(std::bit_cast<uint64_t>(v));
  }
  template <uint32_t kField>
  void text(std::string_view v) {
    tag<kField, WireType::kBytes>();
    p_ = putVarint(p_, v.size());
    raw(v);
  }
  /// Writes fields that are already encoded.
  void raw(std::string_view v) {
    if (v.empty()) return;  // its data() may be null
    std::memcpy(p_, v.data(), v.size());
    p_ += v.size();
  }
  /// Writes a nested message; `body()` writes its fields with this cursor.
  template <uint32_t kField, class Body>
  void message(Body&& body) {
    uint8_t* length = begin<kField>();
    body();
    end(length);
  }

  template <uint32_t kField>
  uint8_t* begin() {
    tag<kField, WireType::kBytes>();
    return p_++;
  }
  void end(uint8_t* length) {
    const size_t n = static_cast<size_t>(p_ - length - 1);
    if (n < 0x80) [[likely]] {
      *length = static_cast<uint8_t>(n);
      return;
    }
    const size_t size = varintSize(n);
    std::memmove(length + size, length + 1, n);
    putVarint(length, n);
    p_ += size - 1;
  }

 private:
  template <uint32_t kField, WireType kType>
  void tag() {
    static_assert(kField >= 1 && kField < (1u << 29));
    constexpr uint32_t kTag = tagOf(kField, kType);
    if constexpr (kTag < 0x80) {
      *p_++ = static_cast<uint8_t>(kTag);
    } else if constexpr (kTag < 0x4000) {
      *p_++ = static_cast<uint8_t>(kTag) | 0x80;
      *p_++ = static_cast<uint8_t>(kTag >> 7);
    } else {
      p_ = putVarint(p_, kTag);
    }
  }

  uint8_t* p_;
};

/// Appends what `fields(Cursor&)` writes, in at most `bound` bytes, to `out`.
template <class Fields>
void append(std::string& out, size_t bound, Fields&& fields) {
  const size_t at = out.size();
  out.resize(at + bound);
  Cursor c(reinterpret_cast<uint8_t*>(out.data()) + at);
  fields(c);
  out.resize(static_cast<size_t>(c.at() - reinterpret_cast<uint8_t*>(out.data())));
}

}  // namespace tracesmith::proto
