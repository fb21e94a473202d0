// SPDX-License-Identifier: Apache-2.0
// The machine that executes a pickle's opcodes (pickle.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/import/flight_recorder/pickle.hpp"

namespace tracesmith::import {

class Pickle::Reader {
 public:
  Reader(Pickle& to, std::string_view bytes) : to_(to), bytes_(bytes) {}
  Status run();

 private:
  enum class Step : uint8_t { kNext, kStop, kFailed };

  Step step(uint8_t opcode);
  Step scalar(uint8_t opcode);
  Step container(uint8_t opcode);
  Step registers(uint8_t opcode);
  /// The name of an opcode that makes an object; "" of all others.
  static std::string_view objectOpcode(uint8_t opcode);

  Step failed(std::string why);
  /// Little-endian, of 1 to 8 bytes. nullopt: the bytes end before.
  std::optional<uint64_t> number(size_t bytes);
  std::optional<std::string_view> take(uint64_t bytes);
  std::optional<std::string_view> counted(size_t length_bytes);
  std::optional<std::string_view> line();

  Step push(PickleValue value);
  Step pushInteger(int64_t value) { return push({.kind = PickleKind::kInteger, .integer = value}); }
  Step pushText(PickleKind kind, std::optional<std::string_view> text);
  Step pushOwned(PickleKind kind, std::string text);
  Step pushLong(std::optional<std::string_view> little_endian);
  Step pushDecimal(std::string_view digits);
  Step pushInt(std::string_view text);
  Step pushFloat(std::string_view text);
  Step pushQuoted(std::string_view text);
  Step pushEscaped(std::string_view text);
  Step pushTuple(size_t items);
  Step pushMarked(PickleKind kind);

  /// How many values are on the stack since the last mark.
  size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  /// Moves the values since the last mark to the container before it.
  Step addMarked(PickleKind kind);
  bool add(uint32_t container, PickleKind kind, size_t from);
  Step store(std::optional<uint64_t> place);
  Step load(std::optional<uint64_t> place);
  /// Completes what can be completed when the pickle ends too early.
  void salvage();

  Pickle& to_;
  std::string_view bytes_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
};

}  // namespace tracesmith::import
