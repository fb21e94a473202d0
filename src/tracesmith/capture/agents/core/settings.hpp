// SPDX-License-Identifier: Apache-2.0
// What is wanted of the agents of this process: by its environment, or by who captures an armed
// one.
#pragma once

#include <stddef.h>

namespace tracesmith::agent {

/// The value of one of the launcher's variables, or null. Not while settings are replaced.
const char* setting(const char* name);

/// From now on these, each NAME=VALUE with its NUL, and nothing of the environment. They are cut
/// before the first that does not fit.
void replaceSettings(const char* text, size_t bytes);

/// The process was armed (`tracesmith arm`): it waits until somebody wants to capture it.
bool waitsForControl();

}  // namespace tracesmith::agent
