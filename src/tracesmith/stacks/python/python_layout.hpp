// SPDX-License-Identifier: Apache-2.0
// Where a version of CPython keeps what a walk of its frames reads.
//
// Part of what enters other people's programs: libc alone, no allocation.
#pragma once

#include <cstdint>

namespace tracesmith::stacks {

/// Distances in bytes from the beginning of the structure that each is named after.
struct PythonLayout {
  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t thread_interpreter = 0;
  uint32_t thread_frame = 0;  // the innermost frame, or the structure that points to it:
  uint32_t link_frame = kAbsent;

  uint32_t frame_code = 0;
  uint32_t frame_previous = 0;
  uint32_t frame_instruction = 0;
  uint32_t frame_owner = 0;
  /// 3.11 marks the frame for which its C function was entered. Later ones put a frame without
  /// Python code, which that C function owns, outside of it.
  uint32_t frame_is_entry = kAbsent;

  uint32_t code_filename = 0;
  uint32_t code_qualname = 0;
  uint32_t code_line_table = 0;
  uint32_t code_first_line = 0;
  uint32_t code_first_traceable = 0;
  uint32_t code_instructions = 0;
};

/// Who owns a frame's memory; what lies from kOwnedByC on has no Python code.
constexpr uint8_t kOwnedByGenerator = 1;
constexpr uint8_t kOwnedByC = 3;

/// Of all versions with a global interpreter lock, not built for tracing references.
constexpr uint32_t kObjectType = 8;
constexpr uint32_t kObjectSize = 16;

enum class PythonLayoutResult : uint8_t { kKnown, kUnknownVersion, kFreeThreaded, kDamaged };

/// The layout of a version (as PY_VERSION_HEX). From 3.13 on `runtime`, the interpreter's
/// _PyRuntime, says itself where most things are.
PythonLayoutResult findPythonLayout(uint32_t version, const void* runtime, PythonLayout& out);

}  // namespace tracesmith::stacks
