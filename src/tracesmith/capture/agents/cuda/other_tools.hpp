// SPDX-License-Identifier: Apache-2.0
// Other CUPTI tools that the process has loaded. A CUPTI that serves one tool at a time does not
// say which tool has taken over.
#pragma once

#include <stddef.h>

namespace tracesmith::agent {

/// Their names, separated by commas; "" if no known tool is loaded. Takes the dynamic loader's
/// lock: do not call in a CUPTI callback.
void describeOtherTools(char* out, size_t bytes);

/// Records the names for the collector, once per life. Needs ready().
void reportOtherTools();

}  // namespace tracesmith::agent
