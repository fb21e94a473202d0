// SPDX-License-Identifier: Apache-2.0
// Settings for the agents of this process: from its environment, or from the process that captures
// an armed one.
#pragma once

#include <stddef.h>

namespace tracesmith::agent {

/// The value of one of the launcher's variables, or null. Do not call while settings are replaced.
const char* setting(const char* name);

/// From now on uses only these settings, each NAME=VALUE and NUL-terminated, and ignores the
/// environment. Settings from the first one that does not fit are dropped.
void replaceSettings(const char* text, size_t bytes);

/// The process was armed (`tracesmith arm`): it waits for a capture request.
bool waitsForControl();

}  // namespace tracesmith::agent
