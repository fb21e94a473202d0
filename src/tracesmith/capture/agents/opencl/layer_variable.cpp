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
  // In the environment until the process ends, and never freed. Another loader of the process cuts
  // this one; whoever writes it here writes the same.
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
