// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/sampled_paths.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "tracesmith/model/kinds.hpp"
#include "tracesmith/stacks/python/python_lines.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith {

std::string_view nameOfCut(stacks::WalkEnd end) {
  switch (end) {
    case stacks::WalkEnd::kTooDeep:
      return "[more callers]";
    case stacks::WalkEnd::kNoInformation:
      return "[no unwind information]";
    default:
      return "[broken stack]";
  }
}

uint32_t SampledPaths::add(SampledFrame frame) {
  const bool in_module = !frame.module.empty();
  const auto [it, is_new] = frames_.try_emplace(
      {frame.module, frame.build_id, frame.function,
       in_module ? frame.module_offset : frame.address, frame.flags, frame.file, frame.line},
      static_cast<uint32_t>(frames_.size() + 1));
  if (is_new) new_frames_.push_back(std::move(frame));
  return it->second;
}

uint32_t SampledPaths::path(uint32_t parent, uint32_t frame) {
  const auto [it, is_new] =
      paths_.try_emplace(uint64_t{parent} << 32 | frame, static_cast<uint32_t>(paths_.size() + 1));
  if (is_new) new_paths_.push_back({parent, frame});
  return it->second;
}

uint32_t SampledPaths::frameOf(uint64_t word, stacks::ProcessCode& code) {
  if ((word & stacks::kOtherFrame) != 0) {
    return stacks::kindOf(word) == stacks::FrameWordKind::kPython
               ? pythonFrameOf(word)
               : cutFrame(static_cast<stacks::WalkEnd>(word & stacks::kFrameAddressMask));
  }
  SampledFrame frame;
  frame.address = word & stacks::kFrameAddressMask;
  const bool is_exact = (word & stacks::kExactFrame) != 0;
  if (is_exact) frame.flags |= frame_flags::kExact;
  if ((word & stacks::kGuessedFrame) != 0) frame.flags |= frame_flags::kGuessed;
  // A call may be the last instruction of a module.
  const auto place = code.placeOf(frame.address - (is_exact ? 0 : 1));
  if (place.mapping == nullptr || place.mapping->path.empty()) return add(std::move(frame));
  frame.module = place.mapping->path;
  if (place.image != nullptr) {
    frame.build_id = place.image->buildId();
    frame.module_offset = place.address + (is_exact ? 0 : 1);
  } else {
    frame.module_offset = frame.address - place.mapping->begin + place.mapping->file_offset;
  }
  frame.address = 0;
  return add(std::move(frame));
}

uint32_t SampledPaths::pythonFrameOf(uint64_t word) {
  SampledFrame frame;
  const uint32_t number = stacks::pythonCodeOf(word);
  if (number == 0) {
    frame.function = "[unknown Python code]";
    frame.module = "Python";
    return add(std::move(frame));
  }
  const stacks::SampledPythonCode& code = python_codes_.at(number);
  frame.function = code.name.empty() ? "[unknown Python code]" : code.name;
  frame.module = "Python";
  frame.file = code.file;
  const uint32_t place = stacks::pythonPlaceOf(word);
  if (place != stacks::kPythonPlaceUnknown && !code.line_table.empty()) {
    const auto at = stacks::pythonLocationOf(code.line_table, code.first_line, place);
    frame.line = static_cast<uint32_t>(std::max(at.line, 0));
  }
  return add(std::move(frame));
}

uint32_t SampledPaths::cutFrame(stacks::WalkEnd end) {
  SampledFrame frame;
  frame.function = nameOfCut(end);
  frame.flags = frame_flags::kTruncatedBelow;
  return add(std::move(frame));
}

uint32_t SampledPaths::kernelFrame(uint64_t address) {
  const auto known = kernel_frames_.find(address);
  if (known != kernel_frames_.end()) return known->second;
  const KernelSymbols::Symbol symbol = kernel_.find(address);
  SampledFrame frame;
  // One frame for each function: lines of the kernel are not known here.
  frame.function = *symbol.name == '\0' ? "[unknown]" : symbol.name;
  frame.module = *symbol.module == '\0' ? "[kernel]" : symbol.module;
  const uint32_t number = add(std::move(frame));
  kernel_frames_.emplace(address, number);
  return number;
}

uint32_t SampledPaths::pathOf(std::span<const uint64_t> words, std::span<const uint64_t> kernel,
                              stacks::ProcessCode& code, KnownFrames& known) {
  if (paths_.size() >= kMostPaths) return 0;
  uint32_t at = 0;
  for (size_t i = words.size(); i-- > 0;) {
    const auto [it, is_new] = known.try_emplace(words[i], 0);
    if (is_new) it->second = frameOf(words[i], code);
    at = path(at, it->second);
  }
  for (size_t i = kernel.size(); i-- > 0;) {
    if (kernel[i] < PERF_CONTEXT_MAX) at = path(at, kernelFrame(kernel[i]));
  }
  return at;
}

}  // namespace tracesmith
