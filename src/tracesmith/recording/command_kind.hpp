// SPDX-License-Identifier: Apache-2.0
// The kinds of commands, and the header before their fields. The number of a kind is on disk:
// append, never renumber.
#pragma once

#include <cstdint>
#include <span>

#include "tracesmith/recording/content.hpp"

namespace tracesmith::recording {

using Handle = uint64_t;  ///< an object's handle or an address; 0: none
using Handles = std::span<const uint64_t>;
using Sizes = std::span<const uint64_t>;
using Text = std::span<const char>;
using Raw = std::span<const uint8_t>;

// X(number, Name)
#define TS_RECORDED_COMMANDS(X) \
  X(1, Device)                  \
  X(2, CreateContext)           \
  X(3, CreateQueue)             \
  X(4, CreateBuffer)            \
  X(5, CreateSubBuffer)         \
  X(6, CreateImage)             \
  X(7, CreateSampler)           \
  X(8, CreateProgram)           \
  X(9, BuildProgram)            \
  X(10, CreateKernel)           \
  X(11, CloneKernel)            \
  X(12, SetArgument)            \
  X(13, SetExecInfo)            \
  X(14, CreateUserEvent)        \
  X(15, SetUserEventStatus)     \
  X(16, Retain)                 \
  X(17, Release)                \
  X(18, SvmAlloc)               \
  X(19, SvmFree)                \
  X(20, Launch)                 \
  X(21, Write)                  \
  X(22, Read)                   \
  X(23, Copy)                   \
  X(24, Fill)                   \
  X(25, Map)                    \
  X(26, Unmap)                  \
  X(27, Migrate)                \
  X(28, SvmCopy)                \
  X(29, SvmFill)                \
  X(30, SvmMap)                 \
  X(31, SvmUnmap)               \
  X(32, Marker)                 \
  X(33, Finish)                 \
  X(34, Flush)                  \
  X(35, WaitForEvents)          \
  X(36, Done)                   \
  X(37, Snapshot)               \
  X(38, RangeEdge)              \
  X(39, Unsupported)            \
  X(40, End)                    \
  X(41, IncludedFile)

enum class CommandKind : uint16_t {
  kNone = 0,
#define TS_X(number, Name) k##Name = number,
  TS_RECORDED_COMMANDS(TS_X)
#undef TS_X
};

namespace command_flags {
constexpr uint16_t kBlocking = 1;  ///< the call waited for its command
constexpr uint16_t kStarted = 2;   ///< recorded when the call started: its result follows in a Done
/// Not a call of the program but added by the agent (Device, Snapshot)
constexpr uint16_t kAddedByAgent = 4;
}  // namespace command_flags

/// Precedes the fields of every command.
struct CommandHeader {
  uint32_t bytes = 0;  ///< of header and fields; a multiple of 8
  CommandKind kind = CommandKind::kNone;
  uint16_t flags = 0;
  uint32_t thread = 0;   ///< kernel thread id (tid) of the caller
  int32_t result = 0;    ///< the call's return code; 0: success
  int64_t start_ns = 0;  ///< CLOCK_MONOTONIC
  int64_t end_ns = 0;
  uint64_t sequence = 0;  ///< number of commands of this process before it
};
static_assert(sizeof(CommandHeader) == 40);

enum class ObjectClass : uint32_t {
  kContext = 1,
  kQueue = 2,
  kMemory = 3,
  kSampler = 4,
  kProgram = 5,
  kKernel = 6,
  kEvent = 7,
  kDevice = 8,
};

}  // namespace tracesmith::recording
