// SPDX-License-Identifier: Apache-2.0
// The rule that leads from a frame to its caller, packed into one line of a cache. It covers nearly
// all rows of call frame information.
//
// Runs inside the recorded program: uses only libc, no allocation, async-signal-safe when locks are
// not allowed.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/unwind/code_tables.hpp"

namespace tracesmith::stacks {

struct WalkRule {
  /// How to compute the canonical frame address (the caller's stack pointer).
  enum class Cfa : uint8_t {
    kNoInformation,  // none for this address
    kSp,             // sp + cfa_offset
    kFp,             // fp + cfa_offset
    kAtFp,           // the word at fp + cfa_offset: functions that align their stack
    kOutermost,      // the frame has no caller
    kFull,           // too complex for this rule: see walkInFull()
  };
  enum class Fp : uint8_t { kSame, kAtCfa, kAtFp };

  uint64_t address;  // of the instruction that the rule is for; 0: unused
  int32_t cfa_offset;
  int32_t fp_offset;
  int16_t ra_offset;  // of the return address, from the CFA
  Cfa cfa;
  Fp fp;
  bool return_signed;
};
static_assert(sizeof(WalkRule) <= 24);

/// Computes the rule for an instruction, from the tables.
void findRule(uint64_t address, TableLock lock, CfiScratch& scratch, WalkRule& out);

/// Two slots per address; a new rule replaces the older one.
class RuleCache {
 public:
  static constexpr uint32_t kSets = 4096;

  void clear() { __builtin_memset(static_cast<void*>(rules_), 0, sizeof rules_); }

  /// nullptr when the rule is not cached. [hot]
  const WalkRule* find(uint64_t address) const {
    const WalkRule* const set = rules_[index(address)];
    if (__builtin_expect(set[0].address == address, 1)) return &set[0];
    return set[1].address == address ? &set[1] : nullptr;
  }
  const WalkRule* put(const WalkRule& rule) {
    WalkRule* const set = rules_[index(rule.address)];
    set[1] = set[0];
    set[0] = rule;
    return &set[0];
  }

 private:
  static uint32_t index(uint64_t address) {
    return static_cast<uint32_t>((address * 0x9e3779b97f4a7c15u) >> 52);
  }
  static_assert(kSets == 1u << 12);
  WalkRule rules_[kSets][2];
};

}  // namespace tracesmith::stacks
