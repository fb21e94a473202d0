// SPDX-License-Identifier: Apache-2.0
// Room in a file for pages that are written to through a mapping.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// Reserves the blocks of a file, so that no page of it can fail later: one that cannot be had
/// when it is written to would kill the program (SIGBUS). False: errno says why.
bool reserveBlocks(int fd, uint64_t at, uint64_t bytes);

}  // namespace tracesmith::agent
