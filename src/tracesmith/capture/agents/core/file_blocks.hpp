// SPDX-License-Identifier: Apache-2.0
// Disk space for pages that are written through a mapping.
#pragma once

#include <stdint.h>

namespace tracesmith::agent {

/// Reserves the blocks of a file, so that no page of it can fail later: writing to a page without
/// disk space would kill the program (SIGBUS). False: errno is set.
bool reserveBlocks(int fd, uint64_t at, uint64_t bytes);

}  // namespace tracesmith::agent
