// SPDX-License-Identifier: Apache-2.0
// The ICD loader cuts the value of OPENCL_LAYERS at each colon while it reads it, in the program's
// environment itself: what the program executes later would have the first layer only.
#pragma once

namespace tracesmith::agent {

/// Puts the value back that the launcher gave, if what is there now is its first part. The loader
/// must have read it: it has when the program calls a function. Each loader of a process cuts it.
void restoreLayerVariable();

}  // namespace tracesmith::agent
