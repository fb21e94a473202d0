// SPDX-License-Identifier: Apache-2.0
// Walks the stack of an interrupted thread, of which the kernel has copied the registers and the
// uppermost bytes (PERF_SAMPLE_STACK_USER).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracesmith/stacks/sampled/process_code.hpp"
#include "tracesmith/stacks/unwind/machine_registers.hpp"

namespace tracesmith::stacks {

struct CopiedStack {
  Registers registers;
  std::span<const uint8_t> bytes;  ///< from the stack pointer on
};

/// Frame words (packed_frame.hpp), innermost first. Another call replaces them.
class CopiedStackWalker {
 public:
  explicit CopiedStackWalker(uint32_t most_frames) : words_(most_frames) {}

  struct Walk {
    std::span<const uint64_t> words;
    WalkEnd end = WalkEnd::kBroken;
    /// The copy ended before the stack did: the callers are unknown.
    bool is_cut = false;
  };
  Walk walk(const CopiedStack& stack, ProcessCode& code);

 private:
  std::vector<uint64_t> words_;
  CfiScratch scratch_;
};

}  // namespace tracesmith::stacks
