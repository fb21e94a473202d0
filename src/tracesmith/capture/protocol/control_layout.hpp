// SPDX-License-Identifier: Apache-2.0
// What an armed process (`tracesmith arm`) and who wants to capture it (`tracesmith record --pid`)
// agree on: a page in the control directory, mapped by both sides, named
// "PID.START_TICKS.CREATED_NS.armed". Who asks holds the file's lock (flock) for as long as it
// captures, writes what it wants, counts `request` up and wakes the process; that answers with the
// same number.
//
// A process that cannot wait says so by the name of an empty file there:
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
/// The directory of the pages; the launcher gives it to the program. Without kEnvSession beside it
/// the program waits to be asked.
constexpr const char* kEnvDirectory = "TRACESMITH_CONTROL";

enum class Wish : uint32_t { kIdle = 0, kCapture = 1 };

struct Page {
  uint64_t magic;
  uint32_t version;
  uint32_t pid;  // as the process knows itself
  uint64_t start_ticks;
  uint64_t pid_namespace;
  int64_t created_ns;  // CLOCK_MONOTONIC
  char boot_id[40];    // of the machine: directories may be shared by several

  // Written by who asks.
  alignas(64) std::atomic<uint32_t> request;  // number of the newest; the process waits for it
  std::atomic<Wish> wish;
  std::atomic<uint32_t> settings_bytes;
  // The environment that the launcher would have given: NAME=VALUE, each with its NUL. Room for a
  // path of any legal length (PATH_MAX) and the other settings.
  char settings[4096 + 1024];

  // Written by the process.
  alignas(64) std::atomic<uint32_t> answer;  // number of the request it has done
  std::atomic<Wish> state;
  std::atomic<int32_t> error;  // errno that kept it from doing it; 0: none
  std::atomic<uint32_t> step;  // arena::ArmStep: what could not be done
};
constexpr size_t kPageBytes = 8192;
static_assert(sizeof(Page) <= kPageBytes);

}  // namespace tracesmith::control
