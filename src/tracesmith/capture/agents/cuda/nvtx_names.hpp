// SPDX-License-Identifier: Apache-2.0
// Names of NVTX: what ranges, domains and categories are called, told once each. Any thread.
//
// A name is known by the hash of its text, for programs change texts in place. All of it needs
// openSharedFile(), but for handles, which a program gets whatever happens.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/agents/cuda/nvtx.hpp"

namespace tracesmith::agent::nvtx {

/// The number of a name, told when it is new: then, and only then, there is a lock, which is not
/// waited for. 0: it could not be told, and has to go with the event. [hot]
uint32_t nameNumber(const char* text);
uint32_t nameNumber(const wchar_t* text);

const Domain* defaultDomain();
/// Waits for the lock where there is something to tell. Not null.
const Domain* makeDomain(const char* name);
const String* registerString(const char* text);
void nameCategory(const Domain* domain, uint32_t category, const char* name);

/// 0 for the default domain, and for what is no handle of ours.
uint16_t numberOf(const Domain* domain);
uint32_t numberOf(const String* string);

/// As UTF-8, cut at `room` - 1 bytes; what is no character becomes U+FFFD. Returns its length.
size_t toUtf8(const wchar_t* text, char* out, size_t room);

constexpr uint32_t kMostDomains = 1024;

}  // namespace tracesmith::agent::nvtx
