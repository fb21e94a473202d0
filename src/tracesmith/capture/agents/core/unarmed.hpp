// SPDX-License-Identifier: Apache-2.0
// Of an armed process (`tracesmith arm`) in which the agent cannot wait for a capture.
#pragma once

#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith::agent {

/// Tells whoever will want to capture this process that nothing can, and why: by a file in the
/// control directory (control_layout.hpp). Does nothing where no file can be made there.
void reportUnarmed(int error, arena::ArmStep step);

}  // namespace tracesmith::agent
