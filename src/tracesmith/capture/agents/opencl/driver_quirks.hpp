// SPDX-License-Identifier: Apache-2.0
// Where a driver does other than the specification says, in what we rely on.
#pragma once

#include "tracesmith/capture/agents/opencl/intercept.hpp"

namespace tracesmith::agent {

/// Oclgrind gives times on every queue, asked for or not. Turning profiling on there would only
/// make us hide what the program sees without us.
bool givesTimesUnasked(cl_device_id device);

/// Oclgrind never calls back for an event that is complete when the callback is set. True once a
/// queue of such a driver is there.
bool mayMissCallbacks();

}  // namespace tracesmith::agent
