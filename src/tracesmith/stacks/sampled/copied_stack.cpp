// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/sampled/copied_stack.hpp"

#include <cstring>

#include "tracesmith/stacks/unwind/stepper.hpp"

namespace tracesmith::stacks {
namespace {

/// Words of the copied stack, and of code in files.
class CopiedWords final : public WordSource {
 public:
  CopiedWords(const CopiedStack& stack, ProcessCode& code)
      : begin_(stack.registers.value[kStackPointer]), bytes_(stack.bytes), code_(code) {}

  bool read(uint64_t address, uint64_t& out) override {
    const uint64_t at = address - begin_;
    if (at < bytes_.size() && bytes_.size() - at >= sizeof out) {
      std::memcpy(&out, bytes_.data() + at, sizeof out);
      return true;
    }
    if (code_.readWord(address, out)) return true;
    // Above the copy, but near it: the stack goes on there.
    constexpr uint64_t kLargestStack = uint64_t{1} << 30;
    is_cut_ = is_cut_ || (at >= bytes_.size() && at < kLargestStack);
    return false;
  }
  bool note(uint64_t, uint64_t) override { return true; }
  bool isCut() const { return is_cut_; }

 private:
  const uint64_t begin_;
  const std::span<const uint8_t> bytes_;
  ProcessCode& code_;
  bool is_cut_ = false;
};

}  // namespace

CopiedStackWalker::Walk CopiedStackWalker::walk(const CopiedStack& stack, ProcessCode& code) {
  CopiedWords words(stack, code);
  Stepper stepper(0, code, scratch_, words);
  WalkState state;
  state.registers = stack.registers;
  uint32_t count = 0;
  Walk out;
  out.end = stepper.walkOutwards(state, words_.data(), static_cast<uint32_t>(words_.size()), count);
  out.words = std::span(words_.data(), count);
  out.is_cut = words.isCut() && out.end != WalkEnd::kOutermost && out.end != WalkEnd::kTooDeep;
  return out;
}

}  // namespace tracesmith::stacks
