// SPDX-License-Identifier: Apache-2.0
// A report: Studio's page with its answers inside, as one file that needs no server and no network.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// Fails in a build without the page, and for a trace of several ranks.
Result<std::string> reportPage(const StudioTrace& of);

}  // namespace tracesmith::studio
