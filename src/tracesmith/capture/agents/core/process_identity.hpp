// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// Writes who this process is into an arena's header. What cannot be read stays empty.
void fillProcessIdentity(arena::ArenaHeader& header);

}  // namespace tracesmith::agent
