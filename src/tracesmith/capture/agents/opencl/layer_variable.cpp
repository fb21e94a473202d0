// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/layer_variable.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {
namespace {

constexpr char kName[] = "OPENCL_LAYERS=";
constexpr size_t kNameBytes = sizeof kName - 1;

}  // namespace

void restoreLayerVariable() {
  const char* const whole = getenv(arena::kEnvOpenClLayers);
  // Stays in the environment until the process ends, and is never freed. Another loader of the
  // process cuts it again; all threads that write it write the same text.
  static char entry[kNameBytes + 8192];
  if (whole == nullptr || strlen(whole) >= sizeof entry - kNameBytes) return;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (strncmp(*at, kName, kNameBytes) != 0) continue;
    const char* const value = *at + kNameBytes;
    const size_t length = strlen(value);
    if (strncmp(value, whole, length) != 0 || whole[length] != ':') return;  // set by the program
    snprintf(entry, sizeof entry, "%s%s", kName, whole);
    // One store, because other threads may read the environment; setenv() would move the entry.
    __atomic_store_n(at, &entry[0], __ATOMIC_RELEASE);
    return;
  }
}

}  // namespace tracesmith::agent
