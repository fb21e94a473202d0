// SPDX-License-Identifier: Apache-2.0
// How a library of ours is named in LD_PRELOAD.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// The entry of LD_PRELOAD for `library`, a path from findAgentLibrary(): the library itself, or
/// the same through the folder that the dynamic loader chooses for a program (`$PLATFORM`), where
/// a 32-bit program finds an empty library. Fails for a path that LD_PRELOAD cannot hold.
Result<std::string> preloadPath(const std::string& library);

}  // namespace tracesmith
