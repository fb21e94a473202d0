// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/cfi_expression.hpp"

#include "tracesmith/stacks/unwind/cfi_row.hpp"

namespace tracesmith::stacks {
namespace {

constexpr uint32_t kMostSteps = 1000;
constexpr uint32_t kDepth = 64;

enum Op : uint8_t {
  kAddr = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRot = 0x17,
  kAbs = 0x19,
  kAnd = 0x1a,
  kDiv = 0x1b,
  kMinus = 0x1c,
  kMod = 0x1d,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kReg0 = 0x50,
  kReg31 = 0x6f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kDerefSize = 0x94,
  kNop = 0x96,
};

class Machine {
 public:
  Machine(ExpressionInput& input, WordSource& memory) : input_(input), memory_(memory) {}

  void push(uint64_t value) {
    if (depth_ == kDepth) {
      ok_ = false;
    } else {
      stack_[depth_++] = value;
    }
  }
  uint64_t pop() {
    if (depth_ == 0) {
      ok_ = false;
      return 0;
    }
    return stack_[--depth_];
  }
  uint64_t peek(uint64_t below) {
    if (below >= depth_) {
      ok_ = false;
      return 0;
    }
    return stack_[depth_ - 1 - below];
  }
  bool ok() const { return ok_; }

  bool run(CfiBytes code);

 private:
  uint64_t reg(uint64_t number) {
    if (number >= kRegisters) {
      ok_ = false;
      return 0;
    }
    if (number == kReturnAddress && kRegisters == 17) return input_.pc;
    input_.used |= uint64_t{1} << number;
    return input_.registers[number];
  }
  uint64_t load(uint64_t address, uint64_t bytes) {
    uint64_t value = 0;
    // Only whole words can be noted.
    const uint64_t word = address & ~uint64_t{7};
    if (bytes == 0 || bytes > 8 || address + bytes > word + 8 || !memory_.read(word, value) ||
        !memory_.note(word, value)) {
      ok_ = false;
      return 0;
    }
    value >>= 8 * (address - word);
    return bytes == 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
  }
  template <class Function>
  void binary(Function&& function) {
    const uint64_t right = pop();
    const uint64_t left = pop();
    push(function(left, right));
  }
  template <class Function>
  void compare(Function&& function) {
    binary([&](uint64_t left, uint64_t right) {
      return uint64_t{function(static_cast<int64_t>(left), static_cast<int64_t>(right))};
    });
  }
  void arithmetic(uint8_t op);
  bool step(uint8_t op, CfiBytes& in);

  ExpressionInput& input_;
  WordSource& memory_;
  uint64_t stack_[kDepth];
  uint32_t depth_ = 0;
  bool ok_ = true;
};

bool Machine::run(CfiBytes code) {
  const uint8_t* const begin = code.at();
  const uint8_t* const end = code.end();
  for (uint32_t steps = 0; !code.atEnd(); ++steps) {
    if (steps == kMostSteps) return false;
    const auto op = code.fixed<uint8_t>();
    if (op == kBra || op == kSkip) {
      const auto distance = code.fixed<int16_t>();
      const bool jump = op == kSkip || pop() != 0;
      if (jump) {
        const int64_t to = (code.at() - begin) + int64_t{distance};
        if (to < 0 || to > end - begin) return false;
        code = CfiBytes(begin + to, end);
      }
    } else if (!step(op, code)) {
      return false;
    }
    if (!ok_ || !code.ok()) return false;
  }
  return ok_ && depth_ > 0;
}

void Machine::arithmetic(uint8_t op) {
  binary([&](uint64_t left, uint64_t right) -> uint64_t {
    const auto signed_left = static_cast<int64_t>(left);
    switch (op) {
      case kAnd:
        return left & right;
      case kOr:
        return left | right;
      case kXor:
        return left ^ right;
      case kPlus:
        return left + right;
      case kMinus:
        return left - right;
      case kMul:
        return left * right;
      case kDiv:
        if (right == 0) ok_ = false;
        if (right == 0 || right == UINT64_MAX) return 0 - left;
        return static_cast<uint64_t>(signed_left / static_cast<int64_t>(right));
      case kMod:
        if (right == 0) ok_ = false;
        return right == 0 ? 0 : left % right;
      case kShl:
        return right > 63 ? 0 : left << right;
      case kShr:
        return right > 63 ? 0 : left >> right;
      default:  // kShra
        return static_cast<uint64_t>(signed_left >> (right > 63 ? 63 : right));
    }
  });
}

bool Machine::step(uint8_t op, CfiBytes& in) {
  if (op >= kLit0 && op <= kLit31) {
    push(op - kLit0);
    return true;
  }
  if (op >= kReg0 && op <= kReg31) {
    push(reg(op - kReg0));
    return true;
  }
  if (op >= kBreg0 && op <= kBreg31) {
    push(reg(op - kBreg0) + static_cast<uint64_t>(in.sleb()));
    return true;
  }
  switch (op) {
    case kNop:
      return true;
    case kAddr:
    case kConst8u:
    case kConst8s:
      push(in.fixed<uint64_t>());
      return true;
    case kConst1u:
      push(in.fixed<uint8_t>());
      return true;
    case kConst1s:
      push(static_cast<uint64_t>(int64_t{in.fixed<int8_t>()}));
      return true;
    case kConst2u:
      push(in.fixed<uint16_t>());
      return true;
    case kConst2s:
      push(static_cast<uint64_t>(int64_t{in.fixed<int16_t>()}));
      return true;
    case kConst4u:
      push(in.fixed<uint32_t>());
      return true;
    case kConst4s:
      push(static_cast<uint64_t>(int64_t{in.fixed<int32_t>()}));
      return true;
    case kConstu:
      push(in.uleb());
      return true;
    case kConsts:
      push(static_cast<uint64_t>(in.sleb()));
      return true;
    case kBregx: {
      const uint64_t number = in.uleb();
      push(reg(number) + static_cast<uint64_t>(in.sleb()));
      return true;
    }
    case kDeref:
      push(load(pop(), 8));
      return true;
    case kDerefSize: {
      const auto bytes = in.fixed<uint8_t>();
      push(load(pop(), bytes));
      return true;
    }
    case kDup:
      push(peek(0));
      return true;
    case kDrop:
      pop();
      return true;
    case kOver:
      push(peek(1));
      return true;
    case kPick:
      push(peek(in.fixed<uint8_t>()));
      return true;
    case kSwap: {
      const uint64_t top = pop();
      const uint64_t second = pop();
      push(top);
      push(second);
      return true;
    }
    case kRot: {
      const uint64_t top = pop();
      const uint64_t second = pop();
      const uint64_t third = pop();
      push(top);
      push(third);
      push(second);
      return true;
    }
    case kAbs: {
      const uint64_t value = pop();
      push(static_cast<int64_t>(value) < 0 ? 0 - value : value);
      return true;
    }
    case kNeg:
      push(0 - pop());
      return true;
    case kNot:
      push(~pop());
      return true;
    case kPlusUconst:
      push(pop() + in.uleb());
      return true;
    case kEq:
      compare([](int64_t a, int64_t b) { return a == b; });
      return true;
    case kGe:
      compare([](int64_t a, int64_t b) { return a >= b; });
      return true;
    case kGt:
      compare([](int64_t a, int64_t b) { return a > b; });
      return true;
    case kLe:
      compare([](int64_t a, int64_t b) { return a <= b; });
      return true;
    case kLt:
      compare([](int64_t a, int64_t b) { return a < b; });
      return true;
    case kNe:
      compare([](int64_t a, int64_t b) { return a != b; });
      return true;
    case kAnd:
    case kOr:
    case kXor:
    case kPlus:
    case kMinus:
    case kMul:
    case kDiv:
    case kMod:
    case kShl:
    case kShr:
    case kShra:
      arithmetic(op);
      return true;
    default:
      return false;
  }
}

/// The bytes of an expression, without their length.
bool codeOf(const uint8_t* expression, const uint8_t* limit, CfiBytes& out) {
  CfiBytes in(expression, limit);
  const uint64_t bytes = in.uleb();
  out = in.block(bytes);
  return in.ok();
}

}  // namespace

bool evaluate(const uint8_t* expression, const uint8_t* limit, const uint64_t* cfa,
              ExpressionInput& input, WordSource& memory, uint64_t& out) {
  CfiBytes code(expression, limit);
  if (!codeOf(expression, limit, code)) return false;
  Machine machine(input, memory);
  if (cfa != nullptr) machine.push(*cfa);
  if (!machine.run(code)) return false;
  out = machine.pop();
  return true;
}

bool isSimple(const uint8_t* expression, const uint8_t* limit, SimpleExpression& out) {
  CfiBytes code(expression, limit);
  if (!codeOf(expression, limit, code)) return false;
  const auto op = code.fixed<uint8_t>();
  if (op < kBreg0 || op > kBreg31) return false;
  out.reg = op - kBreg0;
  out.offset = code.sleb();
  out.dereferenced = false;
  if (!code.atEnd()) {
    out.dereferenced = true;
    if (code.fixed<uint8_t>() != kDeref || !code.atEnd()) return false;
  }
  return code.ok();
}

}  // namespace tracesmith::stacks
