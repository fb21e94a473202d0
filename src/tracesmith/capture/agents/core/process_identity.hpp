// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// Writes the identity of this process into an arena's header. Fields that cannot be read stay
/// empty.
void fillProcessIdentity(arena::ArenaHeader& header);

}  // namespace tracesmith::agent
