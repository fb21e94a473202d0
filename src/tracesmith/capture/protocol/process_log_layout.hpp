// SPDX-License-Identifier: Apache-2.0
// Layout shared by the preload library and the collector: the process log, a file to which every
// program adds one record when it starts. The library includes this file and nothing else of
// TraceSmith.
//
// Records follow each other, each appended by one write(2):
//
//   +--------------+------------------------+-------------------+---------------+
//   | RecordHeader | command line           | executable        | 0 to 7 zeros  |
//   | 64 bytes     | NUL after each argument| path, without NUL |               |
//   +--------------+------------------------+-------------------+---------------+
//   |<------------------------------- bytes ----------------------------------->|
//
// A process that exits through exit(3) then fills in exit_status and exit_ns of its own record
// through a mapping of the file. It makes no system call for that, because a sandbox might kill it
// for one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tracesmith::process_log {

constexpr const char* kEnvLog = "TRACESMITH_PROCESS_LOG";  // path of the file
constexpr uint32_t kMagic = 0x52505354;                    // "TSPR"
constexpr uint16_t kVersion = 1;
constexpr size_t kMaxCommandBytes = 4096;
constexpr size_t kMaxExecutableBytes = 4096;

enum class Kind : uint8_t {
  kExec = 1,  // a program started
  kFork = 2,  // a forked child that continues its parent's program
};

constexpr uint8_t kCommandCut = 1;  // flags: the command line was longer than kMaxCommandBytes

struct RecordHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t bytes;  // whole record, a multiple of 8
  uint32_t pid;    // in the process's own pid namespace
  uint32_t parent_pid;
  uint64_t start_ticks;    // field 22 of /proc/self/stat
  int64_t monotonic_ns;    // when the record was written
  uint64_t pid_namespace;  // inode of /proc/self/ns/pid
  uint16_t command_bytes;
  uint16_t executable_bytes;
  Kind kind;
  uint8_t flags;
  uint16_t reserved;
  uint32_t checksum;  // of everything but the last 16 bytes of the header
  int32_t exit_status;
  int64_t exit_ns;  // CLOCK_MONOTONIC; 0: has not exited through exit(3)
};
static_assert(sizeof(RecordHeader) == 64);
constexpr size_t kChecksummedHeaderBytes = offsetof(RecordHeader, checksum);
constexpr size_t kMaxRecordBytes = sizeof(RecordHeader) + kMaxCommandBytes + kMaxExecutableBytes;

/// FNV-1a of the header before `checksum` and of the texts after the header.
inline uint32_t checksum(const void* record, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(record);
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < bytes; ++i) {
    if (i == kChecksummedHeaderBytes) i = sizeof(RecordHeader);
    if (i < bytes) h = (h ^ p[i]) * 16777619u;
  }
  return h;
}

}  // namespace tracesmith::process_log
