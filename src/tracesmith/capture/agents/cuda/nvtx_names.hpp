// SPDX-License-Identifier: Apache-2.0
// Names of NVTX ranges, domains and categories; each is recorded once. Callable on any thread.
//
// A name is identified by the hash of its text, because programs change texts in place. Everything
// here needs openSharedFile(), except handles, which a program gets in any case.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/agents/cuda/nvtx.hpp"

namespace tracesmith::agent::nvtx {

/// The number of a name. A new name is recorded first; only that takes a lock, without waiting for
/// it. 0: it could not be recorded, and must be written with the event. [hot]
uint32_t nameNumber(const char* text);
uint32_t nameNumber(const wchar_t* text);

const Domain* defaultDomain();
/// Waits for the lock if there is something to record. Never null.
const Domain* makeDomain(const char* name);
const String* registerString(const char* text);
void nameCategory(const Domain* domain, uint32_t category, const char* name);

/// 0 for the default domain, and for pointers that are not our handles.
uint16_t numberOf(const Domain* domain);
uint32_t numberOf(const String* string);

/// Converts to UTF-8, truncated to `room` - 1 bytes; invalid characters become U+FFFD. Returns the
/// length.
size_t toUtf8(const wchar_t* text, char* out, size_t room);

constexpr uint32_t kMostDomains = 1024;

}  // namespace tracesmith::agent::nvtx
