// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// Writes the identity of this process into an arena's header. Fields that cannot be read stay
/// empty.
void fillProcessIdentity(arena::ArenaHeader& header);

/// A process keeps its identity through exec, so its correlation ids must continue after those of
/// the previous program. The arenas of that program contain the last one.
uint64_t correlationAfterExec(const char* session);

}  // namespace tracesmith::agent
