// SPDX-License-Identifier: Apache-2.0
// Drivers that deviate from the specification in ways that affect the agent.
#pragma once

#include "tracesmith/capture/agents/opencl/intercept.hpp"

namespace tracesmith::agent {

/// Oclgrind reports times on every queue, even if profiling was not requested. If the agent enabled
/// profiling there, it would have to hide times that the program sees without the agent.
bool profilesEveryQueue(cl_device_id device);

/// Oclgrind never calls back for an event that is already complete when the callback is set. True
/// once a queue of such a driver exists.
bool mayMissCallbacks();

}  // namespace tracesmith::agent
