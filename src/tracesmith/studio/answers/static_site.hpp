// SPDX-License-Identifier: Apache-2.0
// Studio as plain files, for any web server.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// Writes the page and what it needs of the trace into `folder`, which is made, or is empty.
/// Returns the number of bytes.
Result<uint64_t> writeStaticSite(const StudioTrace& of, const std::string& folder);

}  // namespace tracesmith::studio
