// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/walk_rule.hpp"

#include "tracesmith/stacks/unwind/cfi_expression.hpp"

namespace tracesmith::stacks {
namespace {

template <class Small>
bool fits(int64_t value, Small& out) {
  out = static_cast<Small>(value);
  return out == value;
}

bool setCfa(const CfiEntry& entry, const CfiRow& row, WalkRule& out) {
  if (row.cfa_expression != nullptr) {
    SimpleExpression e;
    if (!isSimple(row.cfa_expression, entry.limit, e) || e.reg != kFramePointer) return false;
    out.cfa = e.dereferenced ? WalkRule::Cfa::kAtFp : WalkRule::Cfa::kFp;
    return fits(e.offset, out.cfa_offset);
  }
  if (row.cfa_register != kStackPointer && row.cfa_register != kFramePointer) return false;
  out.cfa = row.cfa_register == kStackPointer ? WalkRule::Cfa::kSp : WalkRule::Cfa::kFp;
  return fits(row.cfa_offset, out.cfa_offset);
}

bool setFramePointer(const CfiEntry& entry, const CfiRow::Rule& rule, WalkRule& out) {
  switch (rule.kind) {
    case RegisterRule::kSame:
      out.fp = WalkRule::Fp::kSame;
      return true;
    case RegisterRule::kAtCfa:
      out.fp = WalkRule::Fp::kAtCfa;
      return fits(rule.value, out.fp_offset);
    case RegisterRule::kAtExpression: {
      SimpleExpression e;
      const auto* const at = reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(rule.value));
      if (!isSimple(at, entry.limit, e) || e.reg != kFramePointer || e.dereferenced) return false;
      out.fp = WalkRule::Fp::kAtFp;
      return fits(e.offset, out.fp_offset);
    }
    default:
      return false;
  }
}

}  // namespace

void findRule(uint64_t address, TableLock lock, CfiScratch& scratch, WalkRule& out) {
  out = {};
  out.address = address;
  CfiEntry entry;
  if (!findEntryOf(address, lock, entry)) return;
  CfiRow row;
  if (!findRow(entry, address, scratch, row)) return;
  const CfiRow::Rule& ra = row.registers[entry.return_register];
  if (ra.kind == RegisterRule::kUndefined) {
    out.cfa = WalkRule::Cfa::kOutermost;
    return;
  }
  out.return_signed = row.return_signed;
  const bool simple = !entry.signal_frame && ra.kind == RegisterRule::kAtCfa &&
                      row.registers[kStackPointer].kind == RegisterRule::kSame &&
                      fits(ra.value, out.ra_offset) && setCfa(entry, row, out) &&
                      setFramePointer(entry, row.registers[kFramePointer], out);
  if (!simple) out.cfa = WalkRule::Cfa::kFull;
}

}  // namespace tracesmith::stacks
