// SPDX-License-Identifier: Apache-2.0
// Layout shared by the recording agent and the collector: the channel file. An agent includes this
// file and nothing else of TraceSmith but the encoding of recordings (recording/command_codec.hpp).
//
// A recorded process has one channel file in the session directory, mapped by both sides:
//
//   +---------------+ 0
//   | ChannelHeader |
//   +---------------+ kHeaderBytes
//   | ring          |  ring_bytes, a power of two; position & (ring_bytes - 1) is the place
//   +---------------+
//
// The ring carries frames of whole 8-byte words. A frame never wraps: a pad frame fills the end.
//
//   | u32 kind | u32 bytes (of the whole frame) | ...                            |
//   kContent:  | u64 low | u64 high | u64 content bytes | the bytes, padded to 8   |
//   kCommand:  | CommandHeader and fields, as command_codec.hpp writes them        |
//
// The program's threads write under one lock. The collector publishes `tail` only after the frames
// before it are in the recording, so the frames between tail and head survive the death of either
// side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracesmith::channel {

constexpr uint64_t kMagic = 0x314e484353535354;  // "TSSSCHN1"
constexpr uint32_t kVersion = 2;
constexpr uint64_t kHeaderBytes = 8192;
constexpr uint64_t kMinRingBytes = 8u << 20;
constexpr uint64_t kMaxRingBytes = uint64_t{4} << 30;
constexpr uint64_t kMaxFrameBytes = 4u << 20;

// Environment variables that the launcher sets for the program.
constexpr const char* kEnvBytes = "TRACESMITH_RECORD_BYTES";  // ring size; set: record
// The recorder's library, for the preloaded agent to load.
constexpr const char* kEnvLibrary = "TRACESMITH_RECORD_LIBRARY";
constexpr const char* kEnvRange = "TRACESMITH_RECORD_RANGE";    // validated range, see range.cpp
constexpr const char* kEnvKeep = "TRACESMITH_RECORD_OUTPUTS";   // "keep": keep bytes read
constexpr const char* kEnvHashes = "TRACESMITH_RECORD_HASHES";  // "launch": hash after every launch
constexpr const char* kSuffix = ".channel";
// Empty file "PID.ERRNO.unchanneled": a process could not create its channel and is not recorded.
constexpr const char* kUnrecordedSuffix = ".unchanneled";

struct ChannelHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;
  uint64_t ring_bytes;
  uint64_t file_bytes;
  uint32_t pid;
  uint32_t parent_pid;
  uint64_t start_ticks;    // field 22 of /proc/PID/stat
  uint64_t pid_namespace;  // inode of /proc/self/ns/pid: the namespace of `pid`
  int64_t created_ns;      // CLOCK_MONOTONIC
  uint32_t command_line_bytes;
  char command_line[2048];  // NUL-separated, as in /proc/PID/cmdline

  // Written by the program.
  alignas(64) std::atomic<uint64_t> head;
  std::atomic<uint64_t> commands;
  std::atomic<uint64_t> launches;       // all of the program, recorded or not
  std::atomic<uint64_t> payload_bytes;  // passed by the program or shown to it
  std::atomic<uint64_t> sent_bytes;     // of distinct chunks
  std::atomic<uint64_t> stall_ns;       // time spent waiting for the collector
  std::atomic<uint32_t> in_range;
  std::atomic<uint32_t> ended;  // nothing follows the frames in the ring
  char end_reason[240];         // valid once `ended` is set

  // Written by the collector.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<int64_t> heartbeat_ns;  // CLOCK_MONOTONIC

  // Incremented by whoever wants the range to start.
  alignas(64) std::atomic<uint32_t> trigger;
};
static_assert(sizeof(ChannelHeader) <= kHeaderBytes);

enum class FrameKind : uint32_t { kPad = 0, kContent = 1, kCommand = 2 };

struct FrameHeader {
  FrameKind kind;
  uint32_t bytes;
};
static_assert(sizeof(FrameHeader) == 8);

struct ContentFrame {
  FrameHeader frame;
  uint64_t low;
  uint64_t high;
  uint64_t bytes;
};
static_assert(sizeof(ContentFrame) == 32);

}  // namespace tracesmith::channel
