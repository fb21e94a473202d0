// SPDX-License-Identifier: Apache-2.0
// Call frame information (DWARF 5, section 6.4; the Linux Standard Base describes the variant of
// .eh_frame). It gives the caller's value of each register for an address in a function.
//
// Runs inside the recorded program: uses only libc, no allocation, no lock, async-signal-safe.
// Reads nothing outside the given bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracesmith/stacks/unwind/machine_registers.hpp"

namespace tracesmith::stacks {

/// Reads bytes in order; reading beyond them gives zeros and sets `ok` to false.
class CfiBytes {
 public:
  CfiBytes(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}

  bool ok() const { return ok_; }
  bool atEnd() const { return at_ >= end_; }
  const uint8_t* at() const { return at_; }
  const uint8_t* end() const { return end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  template <class T>
  T fixed() {
    T value{};
    if (!has(sizeof(T))) return value;
    __builtin_memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t uleb();
  int64_t sleb();
  /// A pointer in one of DW_EH_PE's encodings, absolute or relative to its own position or to
  /// `data_base`. Others, and indirect ones, set `ok` to false.
  uint64_t pointer(uint8_t encoding, uint64_t data_base = 0);
  void skip(uint64_t bytes) {
    if (has(bytes)) at_ += bytes;
  }
  /// Returns the next `bytes` bytes, and skips them.
  CfiBytes block(uint64_t bytes) {
    const uint8_t* const begin = at_;
    skip(bytes);
    return ok_ ? CfiBytes(begin, begin + bytes) : CfiBytes(begin, begin);
  }

 private:
  bool has(uint64_t bytes) {
    if (bytes <= left()) return true;
    ok_ = false;
    at_ = end_;
    return false;
  }
  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

enum class RegisterRule : uint8_t {
  kSame,             // unchanged (no rule given)
  kUndefined,        // cannot be recovered
  kAtCfa,            // in memory at CFA + value
  kCfa,              // CFA + value
  kRegister,         // in register `value`
  kAtExpression,     // in memory at the address given by the expression at address `value`
  kExpressionValue,  // the value of that expression
};

/// The unwind rules at one address.
struct CfiRow {
  struct Rule {
    int64_t value = 0;
    RegisterRule kind = RegisterRule::kSame;
  };
  Rule registers[kRegisters];
  const uint8_t* cfa_expression = nullptr;  // length (ULEB) and bytes; null: use the members below
  uint32_t cfa_register = 0;
  int64_t cfa_offset = 0;
  bool return_signed = false;  // the return address is signed (AArch64)
};

/// The entry of one function.
struct CfiEntry {
  uint64_t begin = 0;  // range of addresses [begin, end)
  uint64_t end = 0;
  uint32_t return_register = 0;
  bool signal_frame = false;  // its caller was interrupted: the address is exact

  const uint8_t* limit = nullptr;  // end of the section
  const uint8_t* initial = nullptr;
  const uint8_t* initial_end = nullptr;
  const uint8_t* program = nullptr;
  const uint8_t* program_end = nullptr;
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t pointer_encoding = 0;
};

/// Memory for findRow(): too large for the stack of a small thread.
struct CfiScratch {
  static constexpr uint32_t kRemembered = 16;
  CfiRow initial;
  CfiRow remembered[kRemembered];
};

/// Reads the entry (FDE) at `fde`; it and its common part (CIE) must lie in [section, limit). False
/// when it is malformed, of an unknown version, or itself a common part.
bool readEntry(const uint8_t* fde, const uint8_t* section, const uint8_t* limit, CfiEntry& out);

/// The row for an address of the entry. False when its program is malformed or unsupported.
bool findRow(const CfiEntry& entry, uint64_t address, CfiScratch& scratch, CfiRow& out);

}  // namespace tracesmith::stacks
