// SPDX-License-Identifier: Apache-2.0
// Capture that others begin and end: in an armed process (core/control.hpp).
#pragma once

namespace tracesmith::agent {

/// Whoever comes first: CUDA's driver or NVTX. False: errno says why the process cannot be
/// captured.
bool startControlled();

}  // namespace tracesmith::agent
