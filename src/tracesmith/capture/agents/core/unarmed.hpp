// SPDX-License-Identifier: Apache-2.0
// For an armed process (`tracesmith arm`) in which the agent cannot wait for a capture.
#pragma once

#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith::agent {

/// Leaves a file in the control directory (control_layout.hpp) that says that this process cannot
/// be captured, and why. Does nothing if the file cannot be created.
void reportUnarmed(int error, arena::ArmStep step);

}  // namespace tracesmith::agent
