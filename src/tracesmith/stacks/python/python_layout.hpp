// SPDX-License-Identifier: Apache-2.0
// Offsets of the fields that a walk of CPython's frames reads, for each version of CPython.
//
// Runs inside the recorded program: uses only libc, no allocation.
#pragma once

#include <cstdint>

namespace tracesmith::stacks {

/// Offsets in bytes from the start of the structure that each is named after.
struct PythonLayout {
  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t thread_interpreter = 0;
  uint32_t thread_frame = 0;  // the innermost frame, or the structure that points to it:
  uint32_t link_frame = kAbsent;

  uint32_t frame_code = 0;
  uint32_t frame_previous = 0;
  uint32_t frame_instruction = 0;
  uint32_t frame_owner = 0;
  /// 3.11 marks the frame for which its C function was entered. Later versions put a frame without
  /// Python code outside it, which that C function owns.
  uint32_t frame_is_entry = kAbsent;

  uint32_t code_filename = 0;
  uint32_t code_qualname = 0;
  uint32_t code_line_table = 0;
  uint32_t code_first_line = 0;
  uint32_t code_first_traceable = 0;
  uint32_t code_instructions = 0;

  // For another process, whose functions cannot be called: from _PyRuntime to the state of each
  // thread, and the characters of texts.
  uint32_t runtime_interpreters = 0;  // pointer to the first one
  uint32_t interpreter_next = 0;
  uint32_t interpreter_threads = 0;  // pointer to the first one
  uint32_t thread_previous = 0;
  uint32_t thread_next = 0;
  uint32_t thread_native_id = 0;  // the system's number, in the process's namespace
  uint32_t text_ascii = 0;        // the characters, if all are ASCII
  uint32_t text_other = 0;        // and if not
};

/// Owner of a frame's memory. Frames with an owner of kOwnedByC or above have no Python code.
constexpr uint8_t kOwnedByGenerator = 1;
constexpr uint8_t kOwnedByC = 3;

/// The same in all versions with a global interpreter lock, unless built for tracing references.
constexpr uint32_t kObjectType = 8;
constexpr uint32_t kObjectSize = 16;
constexpr uint64_t kPythonUnit = 2;  // size of an instruction in bytes
/// Texts: length, and a word of bits that says how the characters are stored.
constexpr uint32_t kTextLength = 16;
constexpr uint32_t kTextState = 32;
/// The bytes of a bytes object.
constexpr uint32_t kBytesData = 32;

enum class PythonLayoutResult : uint8_t { kKnown, kUnknownVersion, kFreeThreaded, kDamaged };

/// The layout of a version (as PY_VERSION_HEX). From 3.13 on the interpreter's _PyRuntime
/// (`runtime`) contains most of the offsets.
PythonLayoutResult findPythonLayout(uint32_t version, const void* runtime, PythonLayout& out);

}  // namespace tracesmith::stacks
