// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/full_walk.hpp"

namespace tracesmith::stacks {
namespace {

constexpr uint32_t kMostOwnFrames = 32;  // from here to the start point

class LoadedCode final : public EntrySource {
 public:
  explicit LoadedCode(TableLock lock) : lock_(lock) {}
  bool find(uint64_t address, CfiEntry& out, uint64_t& place) override {
    place = address;
    return findEntryOf(address, lock_, out);
  }

 private:
  const TableLock lock_;
};

}  // namespace

[[gnu::noinline]] FullWalk walkInFull(const StartPoint& start, TableLock lock, CfiScratch& scratch,
                                      StackMemory& memory, uint64_t* frames, uint32_t most) {
  FullWalk walk;
  WalkState state;
  readRegisters(state.registers);
  LoadedCode code(lock);
  Stepper stepper(start.sp, code, scratch, memory);
  uint32_t own = 0;
  const auto arrived = [&] {
    return state.registers.value[kStackPointer] == start.sp && state.registers.pc == start.pc;
  };
  for (; !arrived(); ++own) {
    if (own == kMostOwnFrames || stepper.step(state) != Stepper::Step::kCaller) return walk;
  }
  // Both registers are part of the key under which the walk is remembered.
  state.entry &= ~(uint64_t{1} << kStackPointer | uint64_t{1} << kFramePointer);
  stepper.beginRepeatable();
  walk.end = stepper.walkOutwards(state, frames, most, walk.count);
  walk.repeatable = stepper.repeatable() && !memory.outside();
  return walk;
}

}  // namespace tracesmith::stacks
