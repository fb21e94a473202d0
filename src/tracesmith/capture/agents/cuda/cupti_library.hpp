// SPDX-License-Identifier: Apache-2.0
// Where CUPTI is.
#pragma once

namespace tracesmith::agent {

/// Loads it, and finds its functions (g_cupti); the library's handle. Null, which is told, when
/// there is none that the agent can use.
void* findCupti();

}  // namespace tracesmith::agent
