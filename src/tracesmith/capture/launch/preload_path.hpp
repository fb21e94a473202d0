// SPDX-License-Identifier: Apache-2.0
// How LD_PRELOAD and OPENCL_LAYERS name a TraceSmith library.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// A path of `library` without spaces, colons and dollar signs, which a list such as LD_PRELOAD or
/// OPENCL_LAYERS cannot hold: the path itself, or one through a link in /tmp/tracesmith-UID.
Result<std::string> pathForLists(const std::string& library);

/// The entry of LD_PRELOAD for `library`, a path from findAgentLibrary(). It is the library itself,
/// or a path with `$PLATFORM`, the folder that the dynamic loader selects for each program; a
/// 32-bit program finds an empty library there. Fails for a path that LD_PRELOAD cannot hold.
Result<std::string> preloadPath(const std::string& library);

}  // namespace tracesmith
