// SPDX-License-Identifier: Apache-2.0
// Expressions of call frame information (DWARF 5, section 2.5): the operations that can occur
// there.
//
// Part of what enters other people's programs: libc alone, no allocation, no lock,
// async-signal-safe.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/unwind/machine_registers.hpp"
#include "tracesmith/stacks/unwind/stack_memory.hpp"

namespace tracesmith::stacks {

/// Registers as an expression sees them; notes which it has asked for.
struct ExpressionInput {
  const uint64_t* registers = nullptr;  // kRegisters of them
  uint64_t pc = 0;
  uint64_t used = 0;  // bit n: register n
};

/// The value of the expression whose length lies at `expression`, in front of `limit`. `cfa` is
/// what lies on the stack at first, where there is something. False when it is malformed, divides
/// by zero, runs for too long, or reads what cannot be read; words that it read are noted in
/// `memory`.
bool evaluate(const uint8_t* expression, const uint8_t* limit, const uint64_t* cfa,
              ExpressionInput& input, StackMemory& memory, uint64_t& out);

/// Where an expression is "register + offset", or the word at that address.
struct SimpleExpression {
  uint32_t reg = 0;
  int64_t offset = 0;
  bool dereferenced = false;
};
bool isSimple(const uint8_t* expression, const uint8_t* limit, SimpleExpression& out);

}  // namespace tracesmith::stacks
