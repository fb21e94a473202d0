// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_layout.hpp"

#include <string.h>

namespace tracesmith::stacks {
namespace {

// Include/cpython/pystate.h, code.h and unicodeobject.h, Include/internal/pycore_frame.h,
// pycore_interp.h and pycore_runtime.h of 3.11.
constexpr PythonLayout kLayout311 = {.thread_interpreter = 16,
                                     .thread_frame = 56,
                                     .link_frame = 8,
                                     .frame_code = 32,
                                     .frame_previous = 48,
                                     .frame_instruction = 56,
                                     .frame_owner = 69,
                                     .frame_is_entry = 68,
                                     .code_filename = 112,
                                     .code_qualname = 128,
                                     .code_line_table = 136,
                                     .code_first_line = 72,
                                     .code_first_traceable = 168,
                                     .code_instructions = 184,
                                     .runtime_interpreters = 40,
                                     .interpreter_next = 0,
                                     .interpreter_threads = 16,
                                     .thread_previous = 0,
                                     .thread_next = 8,
                                     .thread_native_id = 160,
                                     .text_ascii = 48,
                                     .text_other = 72};

// The same headers of 3.12.
constexpr PythonLayout kLayout312 = {.thread_interpreter = 16,
                                     .thread_frame = 56,
                                     .link_frame = 0,
                                     .frame_code = 0,
                                     .frame_previous = 8,
                                     .frame_instruction = 56,
                                     .frame_owner = 70,
                                     .code_filename = 112,
                                     .code_qualname = 128,
                                     .code_line_table = 136,
                                     .code_first_line = 68,
                                     .code_first_traceable = 176,
                                     .code_instructions = 192,
                                     .runtime_interpreters = 40,
                                     .interpreter_next = 0,
                                     .interpreter_threads = 72,
                                     .thread_previous = 0,
                                     .thread_next = 8,
                                     .thread_native_id = 144,
                                     .text_ascii = 40,
                                     .text_other = 56};

/// Start of the sections of _Py_DebugOffsets, in words. The structure is not compatible between
/// versions (its own comment says so): 3.14 has more members in the first two sections.
struct DebugOffsets {
  uint32_t thread;
  uint32_t frame;
  uint32_t code;
};
constexpr DebugOffsets kOffsets313 = {.thread = 19, .frame = 28, .code = 34};
constexpr DebugOffsets kOffsets314 = {.thread = 22, .frame = 31, .code = 39};

// Members of the sections, in words; those of the first two sections from the beginning.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kFreeThreaded = 2;
constexpr uint32_t kRuntimeInterpreters = 5;
constexpr uint32_t kInterpreterNext = 8;
constexpr uint32_t kInterpreterThreads = 9;
constexpr uint32_t kThreadPrevious = 1;
constexpr uint32_t kThreadNext = 2;
constexpr uint32_t kThreadNativeId = 6;
constexpr uint32_t kThreadInterpreter = 3;
constexpr uint32_t kThreadFrame = 4;
constexpr uint32_t kFramePrevious = 1;
constexpr uint32_t kFrameExecutable = 2;
constexpr uint32_t kFrameInstruction = 3;
constexpr uint32_t kFrameOwner = 5;
constexpr uint32_t kCodeFilename = 1;
constexpr uint32_t kCodeQualname = 3;
constexpr uint32_t kCodeLineTable = 4;
constexpr uint32_t kCodeFirstLine = 5;
constexpr uint32_t kCodeInstructions = 9;

PythonLayoutResult fromDebugOffsets(uint32_t version, const void* runtime,
                                    const DebugOffsets& sections, PythonLayout& out) {
  uint64_t words[64];
  if (runtime == nullptr) return PythonLayoutResult::kDamaged;
  memcpy(words, runtime, sizeof words);
  if (memcmp(words, "xdebugpy", 8) != 0 || words[kVersion] != version) {
    return PythonLayoutResult::kDamaged;
  }
  if (words[kFreeThreaded] != 0) return PythonLayoutResult::kFreeThreaded;
  bool sane = true;
  const auto at = [&](uint32_t word) {
    constexpr uint64_t kMost = 64u << 10;
    if (words[word] >= kMost) sane = false;
    return static_cast<uint32_t>(words[word] & (kMost - 1));
  };
  out = {.thread_interpreter = at(sections.thread + kThreadInterpreter),
         .thread_frame = at(sections.thread + kThreadFrame),
         .frame_code = at(sections.frame + kFrameExecutable),
         .frame_previous = at(sections.frame + kFramePrevious),
         .frame_instruction = at(sections.frame + kFrameInstruction),
         .frame_owner = at(sections.frame + kFrameOwner),
         .code_filename = at(sections.code + kCodeFilename),
         .code_qualname = at(sections.code + kCodeQualname),
         .code_line_table = at(sections.code + kCodeLineTable),
         .code_first_line = at(sections.code + kCodeFirstLine),
         .code_instructions = at(sections.code + kCodeInstructions),
         .runtime_interpreters = at(kRuntimeInterpreters),
         .interpreter_next = at(kInterpreterNext),
         .interpreter_threads = at(kInterpreterThreads),
         .thread_previous = at(sections.thread + kThreadPrevious),
         .thread_next = at(sections.thread + kThreadNext),
         .thread_native_id = at(sections.thread + kThreadNativeId),
         .text_ascii = 40,
         .text_other = 56};
  // Not among the offsets. In all versions one pointer and the instructions follow it.
  if (out.code_instructions < 16) sane = false;
  out.code_first_traceable = out.code_instructions - 16;
  return sane ? PythonLayoutResult::kKnown : PythonLayoutResult::kDamaged;
}

}  // namespace

PythonLayoutResult findPythonLayout(uint32_t version, const void* runtime, PythonLayout& out) {
  switch (version >> 16) {
    case 0x030b:
      out = kLayout311;
      return PythonLayoutResult::kKnown;
    case 0x030c:
      out = kLayout312;
      return PythonLayoutResult::kKnown;
    case 0x030d:
      return fromDebugOffsets(version, runtime, kOffsets313, out);
    case 0x030e:
      return fromDebugOffsets(version, runtime, kOffsets314, out);
    default:
      return PythonLayoutResult::kUnknownVersion;
  }
}

}  // namespace tracesmith::stacks
