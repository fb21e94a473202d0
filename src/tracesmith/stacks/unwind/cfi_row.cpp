// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/cfi_row.hpp"

#include <span>

namespace tracesmith::stacks {
namespace {

// Encodings of pointers: the low half gives the format, the high half the base.
constexpr uint8_t kOmitted = 0xff;
constexpr uint8_t kIndirect = 0x80;

enum RowOp : uint8_t {
  kAdvance = 0x40,  // in the upper two bits; the operand is in the lower six
  kOffset = 0x80,
  kRestore = 0xc0,
  kRowNop = 0x00,
  kSetLoc = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kNegateReturnSigned = 0x2d,
  kArgsSize = 0x2e,
  kNegativeOffsetExtended = 0x2f,
};

class Interpreter {
 public:
  Interpreter(const CfiEntry& entry, CfiScratch& scratch, CfiRow& row)
      : entry_(entry), scratch_(scratch), row_(row) {}

  /// Runs until the program ends, or reaches an instruction for addresses after `address`.
  bool run(const uint8_t* begin, const uint8_t* end, uint64_t from, uint64_t address);

 private:
  void set(uint64_t number, RegisterRule kind, int64_t value) {
    // Vector registers have higher numbers; they are not needed.
    if (number < kRegisters) row_.registers[number] = {value, kind};
  }
  void restore(uint64_t number) {
    if (number < kRegisters) row_.registers[number] = scratch_.initial.registers[number];
  }
  int64_t factored(uint64_t value) const {
    return static_cast<int64_t>(value * static_cast<uint64_t>(entry_.data_factor));
  }
  void setCfa(uint64_t number, int64_t offset) {
    row_.cfa_expression = nullptr;
    row_.cfa_register = static_cast<uint32_t>(number);
    row_.cfa_offset = offset;
    known_ = known_ && number < kRegisters;
  }
  bool step(CfiBytes& in, uint8_t op);

  const CfiEntry& entry_;
  CfiScratch& scratch_;
  CfiRow& row_;
  uint32_t remembered_ = 0;
  bool known_ = true;
};

bool Interpreter::run(const uint8_t* begin, const uint8_t* end, uint64_t from, uint64_t address) {
  CfiBytes in(begin, end);
  uint64_t at = from;
  while (!in.atEnd() && at <= address) {
    const auto op = in.fixed<uint8_t>();
    const uint8_t low = op & 0x3f;
    uint64_t advance = 0;
    switch (op & 0xc0) {
      case kAdvance:
        advance = low;
        break;
      case kOffset:
        set(low, RegisterRule::kAtCfa, factored(in.uleb()));
        continue;
      case kRestore:
        restore(low);
        continue;
      default:
        switch (op) {
          case kSetLoc:
            at = in.pointer(entry_.pointer_encoding);
            if (!in.ok()) return false;
            continue;
          case kAdvance1:
            advance = in.fixed<uint8_t>();
            break;
          case kAdvance2:
            advance = in.fixed<uint16_t>();
            break;
          case kAdvance4:
            advance = in.fixed<uint32_t>();
            break;
          default:
            if (!step(in, op)) return false;
            continue;
        }
    }
    at += advance * entry_.code_factor;
  }
  return in.ok() && known_;
}

bool Interpreter::step(CfiBytes& in, uint8_t op) {
  switch (op) {
    case kRowNop:
      return true;
    case kOffsetExtended: {
      const uint64_t number = in.uleb();
      set(number, RegisterRule::kAtCfa, factored(in.uleb()));
      return true;
    }
    case kOffsetExtendedSf: {
      const uint64_t number = in.uleb();
      set(number, RegisterRule::kAtCfa, factored(static_cast<uint64_t>(in.sleb())));
      return true;
    }
    case kNegativeOffsetExtended: {
      const uint64_t number = in.uleb();
      set(number, RegisterRule::kAtCfa, factored(0 - in.uleb()));
      return true;
    }
    case kValOffset: {
      const uint64_t number = in.uleb();
      set(number, RegisterRule::kCfa, factored(in.uleb()));
      return true;
    }
    case kValOffsetSf: {
      const uint64_t number = in.uleb();
      set(number, RegisterRule::kCfa, factored(static_cast<uint64_t>(in.sleb())));
      return true;
    }
    case kRestoreExtended:
      restore(in.uleb());
      return true;
    case kUndefined:
      set(in.uleb(), RegisterRule::kUndefined, 0);
      return true;
    case kSameValue:
      set(in.uleb(), RegisterRule::kSame, 0);
      return true;
    case kRegister: {
      const uint64_t number = in.uleb();
      const uint64_t from = in.uleb();
      if (from >= kRegisters) return false;
      set(number, RegisterRule::kRegister, static_cast<int64_t>(from));
      return true;
    }
    case kRememberState:
      if (remembered_ == CfiScratch::kRemembered) return false;
      scratch_.remembered[remembered_++] = row_;
      return true;
    case kRestoreState:
      if (remembered_ == 0) return false;
      row_ = scratch_.remembered[--remembered_];
      return true;
    case kDefCfa: {
      const uint64_t number = in.uleb();
      setCfa(number, static_cast<int64_t>(in.uleb()));
      return true;
    }
    case kDefCfaSf: {
      const uint64_t number = in.uleb();
      setCfa(number, factored(static_cast<uint64_t>(in.sleb())));
      return true;
    }
    case kDefCfaRegister:
      setCfa(in.uleb(), row_.cfa_offset);
      return true;
    case kDefCfaOffset:
      row_.cfa_offset = static_cast<int64_t>(in.uleb());
      return true;
    case kDefCfaOffsetSf:
      row_.cfa_offset = factored(static_cast<uint64_t>(in.sleb()));
      return true;
    case kDefCfaExpression:
      row_.cfa_expression = in.at();
      in.skip(in.uleb());
      return true;
    case kExpression:
    case kValExpression: {
      const uint64_t number = in.uleb();
      set(number, op == kExpression ? RegisterRule::kAtExpression : RegisterRule::kExpressionValue,
          static_cast<int64_t>(reinterpret_cast<uintptr_t>(in.at())));
      in.skip(in.uleb());
      return true;
    }
    case kNegateReturnSigned:
      row_.return_signed = !row_.return_signed;
      return true;
    case kArgsSize:
      in.uleb();
      return true;
    default:
      return false;
  }
}

struct Head {
  CfiBytes body;
  uint64_t id = 0;
  const uint8_t* id_at = nullptr;
};

/// Reads the length and the field that distinguishes a common part from an entry.
bool readHead(const uint8_t* at, const uint8_t* limit, Head& out) {
  CfiBytes in(at, limit);
  uint64_t length = in.fixed<uint32_t>();
  const bool wide = length == 0xffffffff;
  if (wide) length = in.fixed<uint64_t>();
  if (!in.ok() || length == 0 || length > in.left()) return false;
  out.body = in.block(length);
  out.id_at = out.body.at();
  // In .eh_frame the distance has 4 bytes, even with a 64-bit length.
  out.id = out.body.fixed<uint32_t>();
  return out.body.ok();
}

}  // namespace

uint64_t CfiBytes::uleb() {
  uint64_t value = 0;
  for (uint32_t shift = 0;; shift += 7) {
    const auto byte = fixed<uint8_t>();
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
}

int64_t CfiBytes::sleb() {
  uint64_t value = 0;
  for (uint32_t shift = 0;;) {
    const auto byte = fixed<uint8_t>();
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
}

uint64_t CfiBytes::pointer(uint8_t encoding, uint64_t data_base) {
  const auto here = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(at_));
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = fixed<uint64_t>();
      break;
    case 0x01:
      value = uleb();
      break;
    case 0x02:
      value = fixed<uint16_t>();
      break;
    case 0x03:
      value = fixed<uint32_t>();
      break;
    case 0x09:
      value = static_cast<uint64_t>(sleb());
      break;
    case 0x0a:
      value = static_cast<uint64_t>(int64_t{fixed<int16_t>()});
      break;
    case 0x0b:
      value = static_cast<uint64_t>(int64_t{fixed<int32_t>()});
      break;
    default:
      ok_ = false;
  }
  switch (encoding & 0x70) {
    case 0x00:
      break;
    case 0x10:
      value += here;
      break;
    case 0x30:
      value += data_base;
      break;
    default:
      ok_ = false;
  }
  if ((encoding & kIndirect) != 0) ok_ = false;
  return ok_ ? value : 0;
}

namespace {

/// Reads the augmentation `data` that the letters after 'z' describe.
bool readAugmentation(std::span<const uint8_t> letters, CfiBytes data, CfiEntry& out) {
  for (const uint8_t letter : letters) {
    switch (letter) {
      case 'R':
        out.pointer_encoding = data.fixed<uint8_t>();
        break;
      case 'P': {
        const auto encoding = data.fixed<uint8_t>();
        // Not needed, and its base may be unknown here: only its length matters.
        if (encoding != kOmitted) data.pointer(encoding & 0x0f);
        break;
      }
      case 'L':
        data.fixed<uint8_t>();
        break;
      case 'S':
        out.signal_frame = true;
        break;
      case 'B':
      case 'G':
        break;
      default:
        return false;
    }
  }
  return data.ok();
}

/// Reads the part that entries share. `sized`: the augmentation data starts with its length.
bool readCommon(CfiBytes& c, CfiEntry& out, bool& sized) {
  const auto version = c.fixed<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  const uint8_t* augmentation = c.at();
  size_t letters = 0;
  while (c.ok() && c.fixed<uint8_t>() != 0) ++letters;
  if (version == 4) {
    if (c.fixed<uint8_t>() != sizeof(uint64_t) || c.fixed<uint8_t>() != 0) return false;
  }
  out.code_factor = c.uleb();
  out.data_factor = c.sleb();
  const uint64_t ra = version == 1 ? c.fixed<uint8_t>() : c.uleb();
  if (!c.ok() || ra >= kRegisters) return false;
  out.return_register = static_cast<uint32_t>(ra);
  sized = letters != 0 && augmentation[0] == 'z';
  if (letters != 0 && !sized) return false;
  if (sized && !readAugmentation({augmentation + 1, letters - 1}, c.block(c.uleb()), out)) {
    return false;
  }
  if (!c.ok()) return false;
  out.initial = c.at();
  out.initial_end = c.end();
  return true;
}

}  // namespace

bool readEntry(const uint8_t* fde, const uint8_t* section, const uint8_t* limit, CfiEntry& out) {
  if (fde < section || fde >= limit) return false;
  Head entry{CfiBytes(fde, limit)};
  if (!readHead(fde, limit, entry) || entry.id == 0) return false;
  if (entry.id > static_cast<uint64_t>(entry.id_at - section)) return false;
  Head common{CfiBytes(fde, limit)};
  if (!readHead(entry.id_at - entry.id, limit, common) || common.id != 0) return false;

  out = {};
  out.limit = limit;
  bool sized = false;
  if (!readCommon(common.body, out, sized)) return false;
  CfiBytes& f = entry.body;
  out.begin = f.pointer(out.pointer_encoding);
  const uint64_t bytes = f.pointer(out.pointer_encoding & 0x0f);
  if (sized) f.skip(f.uleb());
  if (!f.ok() || out.begin + bytes < out.begin) return false;
  out.end = out.begin + bytes;
  out.program = f.at();
  out.program_end = f.end();
  return true;
}

bool findRow(const CfiEntry& entry, uint64_t address, CfiScratch& scratch, CfiRow& out) {
  out = CfiRow{};
  scratch.initial = out;
  Interpreter interpreter(entry, scratch, out);
  if (!interpreter.run(entry.initial, entry.initial_end, 0, UINT64_MAX)) return false;
  scratch.initial = out;
  return interpreter.run(entry.program, entry.program_end, entry.begin, address);
}

}  // namespace tracesmith::stacks
