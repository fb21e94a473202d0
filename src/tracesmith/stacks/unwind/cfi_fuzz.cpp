// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as unwind information: a table, its entries, rows at many addresses, and
// expressions over a stack of the test's own. Nothing may be read outside the bytes
// (AddressSanitizer checks) or take long.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tracesmith/stacks/unwind/cfi_expression.hpp"
#include "tracesmith/stacks/unwind/code_tables.hpp"

using namespace tracesmith::stacks;  // NOLINT: a program of one function

namespace {

uint64_t g_stack[64];

void runExpression(const uint8_t* expression, const uint8_t* limit) {
  static StackMemory memory;
  const auto base = reinterpret_cast<uint64_t>(g_stack);
  memory.begin({base, base + sizeof g_stack}, base);
  uint64_t registers[kRegisters];
  for (uint64_t& value : registers) value = base + 64;
  ExpressionInput input{registers, base, 0};
  uint64_t value = 0;
  const uint64_t cfa = base + 128;
  static_cast<void>(evaluate(expression, limit, &cfa, input, memory, value));
  SimpleExpression simple;
  static_cast<void>(isSimple(expression, limit, simple));
}

void useRow(const CfiEntry& entry, uint64_t address) {
  static CfiScratch scratch;
  CfiRow row;
  if (!findRow(entry, address, scratch, row)) return;
  if (row.cfa_expression == nullptr && row.cfa_register >= kRegisters) std::abort();
  if (row.cfa_expression != nullptr) runExpression(row.cfa_expression, entry.limit);
  for (const CfiRow::Rule& rule : row.registers) {
    if (rule.kind == RegisterRule::kAtExpression || rule.kind == RegisterRule::kExpressionValue) {
      runExpression(reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(rule.value)),
                    entry.limit);
    }
    if (rule.kind == RegisterRule::kRegister && (rule.value < 0 || rule.value >= kRegisters)) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // In its own allocation, so that a read beyond it is detected.
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
  if (size != 0) memcpy(bytes.get(), data, size);
  const uint8_t* const begin = bytes.get();
  const uint8_t* const end = begin + size;
  CfiEntry entry;
  for (size_t at = 0; at < std::min<size_t>(size, 64); at += 4) {
    if (!readEntry(begin + at, begin, end, entry)) continue;
    if (entry.end < entry.begin) std::abort();
    useRow(entry, entry.begin);
    useRow(entry, entry.begin + 7);
    useRow(entry, entry.end);
  }
  const auto base = reinterpret_cast<uint64_t>(begin);
  for (const uint64_t address : {base, base + 100, base + 1'000'000}) {
    if (findEntryIn(begin + std::min<size_t>(size, 16), begin, end, address, entry) ||
        findEntryIn(begin, begin, end, address, entry)) {
      if (address < entry.begin || address >= entry.end) std::abort();
      useRow(entry, address);
    }
  }
  runExpression(begin, end);
  return 0;
}
