// SPDX-License-Identifier: Apache-2.0
// Encodes commands as bytes. Every number takes 8 bytes. Every list is its count followed by its
// elements, padded to 8 bytes. Decoded lists point into the encoded bytes. Agents include this.
#pragma once

#include <cstring>
#include <type_traits>

#include "tracesmith/recording/command.hpp"

namespace tracesmith::recording {

namespace codec {
constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }
template <class T>
constexpr bool kIsNumber = std::is_enum_v<T> || std::is_integral_v<T>;
}  // namespace codec

/// Sums the encoded sizes of fields.
class FieldSize {
 public:
  template <class T>
  void operator()(const T& field) {
    if constexpr (codec::kIsNumber<T>) {
      bytes_ += 8;
    } else if constexpr (std::is_same_v<T, Payload>) {
      bytes_ += 16 + field.chunks.size_bytes();
    } else {
      bytes_ += 8 + codec::padded(field.size_bytes());
    }
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

/// Writes fields to a buffer that must be large enough.
class FieldWriter {
 public:
  explicit FieldWriter(uint8_t* to) : to_(to) {}
  template <class T>
  void operator()(const T& field) {
    if constexpr (codec::kIsNumber<T>) {
      put(static_cast<uint64_t>(field));
    } else if constexpr (std::is_same_v<T, Payload>) {
      put(field.bytes);
      list(field.chunks);
    } else {
      list(field);
    }
  }

 private:
  void put(uint64_t v) {
    memcpy(to_, &v, sizeof v);
    to_ += sizeof v;
  }
  template <class E>
  void list(std::span<const E> elements) {
    put(elements.size());
    if (elements.empty()) return;
    const uint64_t bytes = elements.size_bytes();
    memcpy(to_, elements.data(), bytes);
    memset(to_ + bytes, 0, codec::padded(bytes) - bytes);
    to_ += codec::padded(bytes);
  }
  uint8_t* to_;
};

/// Reads fields. Fields beyond the end read as zero or empty; never reads out of bounds.
class FieldReader {
 public:
  /// `fields` must be 8-byte aligned.
  explicit FieldReader(std::span<const uint8_t> fields)
      : at_(fields.data()), end_(fields.data() + fields.size()) {}
  template <class T>
  void operator()(T& field) {
    if constexpr (codec::kIsNumber<T>) {
      field = static_cast<T>(number());
    } else if constexpr (std::is_same_v<T, Payload>) {
      field.bytes = number();
      list(field.chunks);
      if (!field.chunks.empty() && field.chunks.size() != chunkCount(field.bytes)) ok_ = false;
    } else {
      list(field);
    }
  }
  /// False when a list claimed more elements than there are.
  bool ok() const { return ok_; }

 private:
  uint64_t number() {
    if (end_ - at_ < 8) {
      at_ = end_;
      return 0;
    }
    uint64_t v;
    memcpy(&v, at_, sizeof v);
    at_ += sizeof v;
    return v;
  }
  template <class E>
  void list(std::span<const E>& out) {
    const uint64_t count = number();
    const auto left = static_cast<uint64_t>(end_ - at_);
    if (count > left / sizeof(E) || codec::padded(count * sizeof(E)) > left) {
      ok_ = false;
      at_ = end_;
      out = {};
      return;
    }
    out = {reinterpret_cast<const E*>(at_), static_cast<size_t>(count)};
    at_ += codec::padded(count * sizeof(E));
  }
  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

/// Encoded size of a command, including its header.
template <class Command>
uint64_t encodedBytes(Command& command) {
  FieldSize size;
  command.visit(size);
  return sizeof(CommandHeader) + size.bytes();
}

/// Writes header and fields to `to`, which must have room for encodedBytes().
template <class Command>
void encode(CommandHeader header, Command& command, uint8_t* to) {
  header.kind = Command::kKind;
  header.bytes = static_cast<uint32_t>(encodedBytes(command));
  memcpy(to, &header, sizeof header);
  FieldWriter writer(to + sizeof header);
  command.visit(writer);
}

/// Decodes the fields of a command; its lists point into `fields`. False: a list exceeds `fields`.
template <class Command>
bool decode(std::span<const uint8_t> fields, Command& command) {
  FieldReader reader(fields);
  command.visit(reader);
  return reader.ok();
}

/// Decodes `fields` as a command of `kind` and calls f(command). Returns false without a call for
/// damaged fields and unknown kinds.
template <class F>
bool withCommand(CommandKind kind, std::span<const uint8_t> fields, F&& f) {
  switch (kind) {
#define TS_X(number, Name)                      \
  case CommandKind::k##Name: {                  \
    Name command;                               \
    if (!decode(fields, command)) return false; \
    f(command);                                 \
    return true;                                \
  }
    TS_RECORDED_COMMANDS(TS_X)
#undef TS_X
    case CommandKind::kNone:
      break;
  }
  return false;
}

}  // namespace tracesmith::recording
