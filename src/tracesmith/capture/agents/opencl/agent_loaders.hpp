// SPDX-License-Identifier: Apache-2.0
// The loaders that the tracing agent stands above.
#pragma once

#include "tracesmith/base/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl/intercept.hpp"

namespace tracesmith::agent {

/// Stands above a loader from here on, and arms the agent. Returns the table of the wrappers, which
/// lives as long as the loader does; nullptr when its calls cannot be recorded. Any thread.
const cl_icd_dispatch* addTracedLoader(const LoadedModule& loader, const cl_icd_dispatch* below,
                                       size_t count);

/// Arms the agent, once. Any thread.
bool enter();

}  // namespace tracesmith::agent
