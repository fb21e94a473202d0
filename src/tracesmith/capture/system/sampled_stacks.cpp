// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/sampled_stacks.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/stacks/python/merge_python.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith {
namespace {

using stacks::FrameWordKind;
using stacks::WalkEnd;

/// The kernel reads the frames of Python just before it writes the stack.
constexpr int64_t kMostBetweenNs = 1'000'000;

uint64_t cutWord(WalkEnd end) {
  return stacks::otherFrame(FrameWordKind::kCut, static_cast<uint64_t>(end));
}

bool isPython(uint64_t word) {
  return (word & stacks::kOtherFrame) != 0 && stacks::kindOf(word) == FrameWordKind::kPython;
}

}  // namespace

void SampledStacks::takePython(uint32_t tid, PythonOfThread python) {
  const bool is_of_call = python.is_of_call;
  python_[{tid, is_of_call}] = std::move(python);
}

/// Sets words_: frames, innermost first, and at the end why callers are missing, if they are.
void SampledStacks::walk(const stacks::CopiedStack* stack, stacks::ProcessCode& code) {
  words_.clear();
  WalkEnd end = WalkEnd::kNoInformation;
  if (stack != nullptr) {
    const auto walk = walker_.walk(*stack, code);
    words_.assign(walk.words.begin(), walk.words.end());
    end = walk.is_cut ? WalkEnd::kTooDeep : walk.end;
  }
  if (end != WalkEnd::kOutermost) words_.push_back(cutWord(end));
}

void SampledStacks::mergePython(const StackOfThread& of, SampledProcesses::Process& process) {
  const auto found = python_.find({of.tid, of.is_of_call});
  if (found == python_.end()) return;
  const PythonOfThread python = std::move(found->second);
  python_.erase(found);
  const int64_t between_ns = of.time_ns - python.time_ns;
  if (!process.python || between_ns < 0 || between_ns > kMostBetweenNs) return;
  if (!process.python->wordsOf(python.frames, python.is_cut, paths_.pythonCodes(), python_words_)) {
    ++unreadable_;
    return;
  }
  if (python_words_.empty()) return;
  ++merged_;
  const stacks::PythonInterpreter& interpreter = process.python->interpreter();
  stacks::MergedStack merged = stacks::mergePython(words_, python_words_, [&](uint64_t word) {
    return stacks::kindByAddress(interpreter, word);
  });
  words_ = std::move(merged.frames);
  if (!merged.python_cut) return;
  // The callers of the outermost Python function are missing.
  const auto outermost = std::find_if(words_.rbegin(), words_.rend(), isPython);
  words_.erase(outermost.base(), words_.end());
  words_.push_back(cutWord(WalkEnd::kTooDeep));
}

uint32_t SampledStacks::pathOf(const StackOfThread& of, SampledProcesses::Process& process) {
  walk(of.stack, process.code);
  mergePython(of, process);
  return paths_.pathOf(words_, of.kernel, process.code, process.frames);
}

}  // namespace tracesmith
