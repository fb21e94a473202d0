// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/layer_variable.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "tracesmith/capture/arena_layout.hpp"

namespace tracesmith::agent {
namespace {

constexpr char kName[] = "OPENCL_LAYERS=";
constexpr size_t kNameBytes = sizeof kName - 1;

}  // namespace

void restoreLayerVariable() {
  static std::atomic_flag done = ATOMIC_FLAG_INIT;
  if (done.test_and_set(std::memory_order_relaxed)) return;
  const char* const whole = getenv(arena::kEnvOpenClLayers);
  // In the environment until the process ends, and never freed.
  static char entry[kNameBytes + 8192];
  if (whole == nullptr || strlen(whole) >= sizeof entry - kNameBytes) return;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (strncmp(*at, kName, kNameBytes) != 0) continue;
    const char* const value = *at + kNameBytes;
    const size_t length = strlen(value);
    if (strncmp(value, whole, length) != 0 || whole[length] != ':') return;  // the program's own
    snprintf(entry, sizeof entry, "%s%s", kName, whole);
    // One store, for others may read the environment meanwhile; setenv() would move it.
    __atomic_store_n(at, &entry[0], __ATOMIC_RELEASE);
    return;
  }
}

}  // namespace tracesmith::agent
