// SPDX-License-Identifier: Apache-2.0
// Evaluates expressions of call frame information (DWARF 5, section 2.5), with the operations that
// can occur there.
//
// Runs inside the recorded program: uses only libc, no allocation, no lock, async-signal-safe.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/unwind/machine_registers.hpp"
#include "tracesmith/stacks/unwind/stack_memory.hpp"

namespace tracesmith::stacks {

/// Registers that an expression may read; notes which it has read.
struct ExpressionInput {
  const uint64_t* registers = nullptr;  // array of kRegisters
  uint64_t pc = 0;
  uint64_t used = 0;  // bit n: register n
};

/// Evaluates the expression at `expression` (its length, then its bytes), which must end before
/// `limit`. `cfa`, unless null, is the initial stack entry. False when the expression is malformed,
/// divides by zero, runs too long, or reads inaccessible memory. Words that it reads are noted in
/// `memory`.
bool evaluate(const uint8_t* expression, const uint8_t* limit, const uint64_t* cfa,
              ExpressionInput& input, WordSource& memory, uint64_t& out);

/// An expression of the form "register + offset", or the word at that address.
struct SimpleExpression {
  uint32_t reg = 0;
  int64_t offset = 0;
  bool dereferenced = false;
};
bool isSimple(const uint8_t* expression, const uint8_t* limit, SimpleExpression& out);

}  // namespace tracesmith::stacks
