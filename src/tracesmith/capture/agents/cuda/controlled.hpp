// SPDX-License-Identifier: Apache-2.0
// Capture started and ended by another process: in an armed process (core/control.hpp).
#pragma once

namespace tracesmith::agent {

/// Called by CUDA's driver or NVTX, whichever is loaded first. False: the process cannot be
/// captured; errno is set.
bool startControlled();

}  // namespace tracesmith::agent
