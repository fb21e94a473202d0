// SPDX-License-Identifier: Apache-2.0
// A frame in one word, as a program sends it to the collector: its address, plus flags in bits that
// program addresses do not use.
#pragma once

#include <cstdint>

namespace tracesmith::stacks {

/// Without a flag the address is a return address, the one after a call.
constexpr uint64_t kExactFrame = uint64_t{1} << 63;  // of the instruction itself (interrupted)
constexpr uint64_t kGuessedFrame = uint64_t{1}
                                   << 62;  // found by frame pointer, without unwind information
constexpr uint64_t kOtherFrame = uint64_t{1} << 61;  // no address: a FrameWordKind and a value

enum class FrameWordKind : uint8_t {
  kCut = 0,     // value: WalkEnd. Stands for all unknown callers
  kPython = 1,  // value: see pythonFrame()
  kMerge = 2,   // value: a path of Python frames, to be merged into the native path before it
};

/// Why a walk ended.
enum class WalkEnd : uint8_t {
  kOutermost = 0,      // nothing called this frame
  kTooDeep = 1,        // there are more frames than requested
  kNoInformation = 2,  // no unwind information, and no plausible frame pointer
  kBroken = 3,         // a frame's stack address is invalid or unreadable
};

constexpr uint64_t kFrameAddressMask = (uint64_t{1} << 56) - 1;

constexpr uint64_t otherFrame(FrameWordKind kind, uint64_t value) {
  return kOtherFrame | static_cast<uint64_t>(kind) << 56 | (value & kFrameAddressMask);
}
constexpr FrameWordKind kindOf(uint64_t word) {
  return static_cast<FrameWordKind>((word >> 56) & 0x1f);
}

/// A Python frame: the number of its code object (PythonCode), and the current instruction.
///
///   bits 24 to 55  the code object's number
///   bit  23        the interpreter's C function was entered anew for this frame
///   bits 0 to 22   the instruction's offset in units of two bytes; all ones: unknown
constexpr uint64_t kPythonEntry = uint64_t{1} << 23;
constexpr uint32_t kPythonPlaceUnknown = kPythonEntry - 1;

constexpr uint64_t pythonFrame(uint32_t code, bool entry, uint64_t place) {
  return otherFrame(FrameWordKind::kPython,
                    uint64_t{code} << 24 | (entry ? kPythonEntry : 0) |
                        (place < kPythonPlaceUnknown ? place : kPythonPlaceUnknown));
}
constexpr uint32_t pythonCodeOf(uint64_t word) { return static_cast<uint32_t>(word >> 24); }
constexpr uint32_t pythonPlaceOf(uint64_t word) {
  return static_cast<uint32_t>(word) & kPythonPlaceUnknown;
}
constexpr bool isPythonEntry(uint64_t word) { return (word & kPythonEntry) != 0; }

}  // namespace tracesmith::stacks
