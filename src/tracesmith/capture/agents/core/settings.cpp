// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/settings.hpp"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/control_layout.hpp"

namespace tracesmith::agent {
namespace {

constexpr size_t kMost = sizeof control::Page::settings;
char g_settings[kMost];
size_t g_bytes = 0;
bool g_replaced = false;

bool isSet(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr && *value != 0;
}

}  // namespace

const char* setting(const char* name) {
  if (!g_replaced) return getenv(name);
  const size_t length = strlen(name);
  for (size_t at = 0; at < g_bytes; at += strlen(g_settings + at) + 1) {
    const char* const entry = g_settings + at;
    if (strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
  }
  return nullptr;
}

void replaceSettings(const char* text, size_t bytes) {
  if (bytes > kMost) bytes = kMost;
  while (bytes > 0 && text[bytes - 1] != 0) --bytes;
  memcpy(g_settings, text, bytes);
  g_bytes = bytes;
  g_replaced = true;
}

bool waitsForControl() {
  // Evaluated once, when the agent starts: a program that captures itself sets kEnvSession later.
  static const bool waits = isSet(control::kEnvDirectory) && !isSet(arena::kEnvSession);
  return waits;
}

}  // namespace tracesmith::agent
