// SPDX-License-Identifier: Apache-2.0
// Other tools of CUPTI that the process has loaded. A CUPTI that serves one tool at a time does not
// say who took it over.
#pragma once

#include <stddef.h>

namespace tracesmith::agent {

/// Their names with commas between them; "" where none that is known is loaded. Takes the loader's
/// lock: not in a callback of CUPTI's.
void describeOtherTools(char* out, size_t bytes);

/// Leaves the names for the collector, once a life. Needs ready().
void tellOtherTools();

}  // namespace tracesmith::agent
