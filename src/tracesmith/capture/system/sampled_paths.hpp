// SPDX-License-Identifier: Apache-2.0
// The call paths of samples as a tree, in which each frame and each path has a number: as an agent
// sends its stacks, but for all processes together.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/capture/system/kernel_symbols.hpp"
#include "tracesmith/stacks/sampled/python_process.hpp"

namespace tracesmith {

/// The frame that stands for unknown callers, by why they are unknown.
std::string_view nameOfCut(stacks::WalkEnd end);

/// A place in code. Texts are "" if unknown.
struct SampledFrame {
  std::string
      function;  ///< of the kernel or Python; others are named later, from module and offset
  std::string module;
  std::string file;   ///< of Python
  uint32_t line = 0;  ///< in it
  std::string build_id;
  uint64_t address = 0;        ///< in memory, of code that is in no file
  uint64_t module_offset = 0;  ///< in the file of the module
  uint32_t flags = 0;          ///< frame_flags
};

struct SampledPath {
  uint32_t parent = 0;  ///< number of the caller's path; 0: none
  uint32_t frame = 0;   ///< number of the innermost frame
};

/// Frames of one process by word, as long as its code lies where it does.
using KnownFrames = std::unordered_map<uint64_t, uint32_t>;

class SampledPaths {
 public:
  /// So many different paths; stacks that would need more have none. A recording may go on for
  /// days.
  static constexpr size_t kMostPaths = size_t{1} << 20;
  /// Reads the names of the kernel's functions, which takes a tenth of a second.
  void readKernelSymbols() { kernel_ = KernelSymbols::read(); }
  /// Number of a path, from 1; 0: the stack is empty. `words`: frames (packed_frame.hpp), innermost
  /// first; the last one may say that callers are missing. `kernel`: addresses of the kernel,
  /// innermost first; they are called by the words' innermost frame.
  uint32_t pathOf(std::span<const uint64_t> words, std::span<const uint64_t> kernel,
                  stacks::ProcessCode& code, KnownFrames& known);
  /// To which words of Python frames refer.
  stacks::SampledPythonCodes& pythonCodes() { return python_codes_; }

  /// What is new since the last call, in the order of the numbers.
  std::vector<SampledFrame> takeFrames() { return std::exchange(new_frames_, {}); }
  std::vector<SampledPath> takePaths() { return std::exchange(new_paths_, {}); }

 private:
  uint32_t frameOf(uint64_t word, stacks::ProcessCode& code);
  uint32_t pythonFrameOf(uint64_t word);
  uint32_t cutFrame(stacks::WalkEnd end);
  uint32_t kernelFrame(uint64_t address);
  uint32_t add(SampledFrame frame);
  uint32_t path(uint32_t parent, uint32_t frame);

  using FrameKey =
      std::tuple<std::string, std::string, std::string, uint64_t, uint32_t, std::string, uint32_t>;
  std::map<FrameKey, uint32_t> frames_;
  std::unordered_map<uint64_t, uint32_t> paths_;          // parent << 32 | frame
  std::unordered_map<uint64_t, uint32_t> kernel_frames_;  // by address
  KernelSymbols kernel_;
  stacks::SampledPythonCodes python_codes_;
  std::vector<SampledFrame> new_frames_;
  std::vector<SampledPath> new_paths_;
};

}  // namespace tracesmith
