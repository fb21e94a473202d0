// SPDX-License-Identifier: Apache-2.0
// The loaders that the tracing agent wraps.
#pragma once

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl/intercept.hpp"

namespace tracesmith::agent {

/// Starts wrapping a loader, and arms the agent. Returns the table of wrappers, which lives as long
/// as the loader; nullptr if the loader's calls cannot be recorded. Any thread.
const cl_icd_dispatch* addTracedLoader(const LoadedModule& loader, const cl_icd_dispatch* below,
                                       size_t count);

/// Arms the agent, once. Any thread.
bool enter();

}  // namespace tracesmith::agent
