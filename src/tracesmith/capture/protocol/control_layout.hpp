// SPDX-License-Identifier: Apache-2.0
// Layout shared by an armed process (`tracesmith arm`) and the process that captures it
// (`tracesmith record --pid`, the requester): a page in the control directory, mapped by both
// sides, named "PID.START_TICKS.CREATED_NS.armed". The requester holds the file's lock (flock) for
// the whole capture. It writes its settings, increments `request` and wakes the armed process,
// which copies that number to `answer` when done.
//
// A process that cannot wait for a capture leaves an empty file in that directory:
// "PID.START_TICKS.ERRNO.STEP.unarmed".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tracesmith::control {

constexpr uint64_t kMagic = 0x314c544353535354;  // "TSSSCTL1"
constexpr uint32_t kVersion = 2;
constexpr const char* kSuffix = ".armed";
constexpr const char* kUnarmedSuffix = ".unarmed";
/// The directory of the pages; the launcher sets it for the program. If kEnvSession is not set as
/// well, the program waits for a capture request.
constexpr const char* kEnvDirectory = "TRACESMITH_CONTROL";

enum class CaptureState : uint32_t { kIdle = 0, kCapture = 1 };

struct Page {
  uint64_t magic;
  uint32_t version;
  uint32_t pid;  // in the process's own pid namespace
  uint64_t start_ticks;
  uint64_t pid_namespace;
  int64_t created_ns;  // CLOCK_MONOTONIC
  char boot_id[40];    // of the machine: several machines may share the directory

  // Written by the requester.
  alignas(64) std::atomic<uint32_t> request;  // number of the newest request; the process waits for
                                              // it to change
  std::atomic<CaptureState> wanted;
  std::atomic<uint32_t> settings_bytes;
  // The environment that the launcher would have set: NAME=VALUE, each NUL-terminated. It has room
  // for a path of any legal length (PATH_MAX) and the other settings.
  char settings[4096 + 1024];

  // Written by the process.
  alignas(64) std::atomic<uint32_t> answer;  // number of the last request that was carried out
  std::atomic<CaptureState> state;
  std::atomic<int32_t> error;  // errno of the failure; 0: none
  std::atomic<uint32_t> step;  // arena::ArmStep: the step that failed
};
constexpr size_t kPageBytes = 8192;
static_assert(sizeof(Page) <= kPageBytes);

}  // namespace tracesmith::control
