// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/merge_python.hpp"

#include <algorithm>

#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith::stacks {
namespace {

using Words = std::span<const uint64_t>;

bool isCut(uint64_t word) {
  return (word & kOtherFrame) != 0 && kindOf(word) == FrameWordKind::kCut;
}

/// Removes a final word kCut; false if there is none.
bool takeCut(Words& frames) {
  if (frames.empty() || !isCut(frames.back())) return false;
  frames = frames.first(frames.size() - 1);
  return true;
}

/// Number of runs of Python frames; the outermost run may have lost its entry frame to a cut.
size_t runsOf(Words python) {
  const auto entries =
      static_cast<size_t>(std::count_if(python.begin(), python.end(), isPythonEntry));
  return entries + (!python.empty() && !isPythonEntry(python.back()) ? 1 : 0);
}

/// Removes and returns the frames that ran in one call of the interpreter's function.
Words takeRun(Words& python) {
  const auto entry = std::find_if(python.begin(), python.end(), isPythonEntry);
  const auto count = static_cast<size_t>(entry - python.begin()) + (entry == python.end() ? 0 : 1);
  const Words run = python.first(count);
  python = python.subspan(count);
  return run;
}

void append(std::vector<uint64_t>& to, Words frames) {
  to.insert(to.end(), frames.begin(), frames.end());
}

}  // namespace

MergedStack mergePython(Words native, Words python,
                        const std::function<NativeFrameKind(uint64_t)>& kind_of) {
  MergedStack merged;
  const Words whole_native = native;
  const bool native_cut = takeCut(native);
  merged.python_cut = takeCut(python);
  std::vector<NativeFrameKind> kinds(native.size());
  std::transform(native.begin(), native.end(), kinds.begin(), kind_of);
  const auto evals =
      static_cast<size_t>(std::count(kinds.begin(), kinds.end(), NativeFrameKind::kEval));
  const size_t runs = runsOf(python);
  merged.agrees =
      evals == runs || (evals < runs && native_cut) || (evals > runs && merged.python_cut);
  if (!merged.agrees) {
    append(merged.frames, python);
    append(merged.frames, whole_native);
    return merged;
  }
  size_t parts = 0;  // kEvalPart frames at the end of `merged`
  for (size_t i = 0; i < native.size(); ++i) {
    if (kinds[i] == NativeFrameKind::kEval && !python.empty()) {
      merged.frames.resize(merged.frames.size() - parts);
      parts = 0;
      append(merged.frames, takeRun(python));
    } else {
      parts = kinds[i] == NativeFrameKind::kEvalPart ? parts + 1 : 0;
      merged.frames.push_back(native[i]);
    }
  }
  append(merged.frames, python);  // these ran on native frames that were cut off
  if (native_cut) merged.frames.push_back(whole_native.back());
  return merged;
}

NativeFrameKind kindByAddress(const PythonInterpreter& interpreter, uint64_t word) {
  if ((word & kOtherFrame) != 0) return NativeFrameKind::kOther;
  // A return address may lie after a function that ends in a call.
  const uint64_t address = (word & kFrameAddressMask) - ((word & kExactFrame) != 0 ? 0 : 1);
  return address - interpreter.eval_begin < interpreter.eval_end - interpreter.eval_begin
             ? NativeFrameKind::kEval
             : NativeFrameKind::kOther;
}

}  // namespace tracesmith::stacks
