// SPDX-License-Identifier: Apache-2.0
// While the ICD loader reads OPENCL_LAYERS, it cuts the value at each colon, in the program's own
// environment. Without a repair, programs started later would get only the first layer.
#pragma once

namespace tracesmith::agent {

/// Restores the value that the launcher set, if the current value is its first part. Call after the
/// loader has read it, which is certain when the program calls an OpenCL function. Each loader of a
/// process cuts the value.
void restoreLayerVariable();

}  // namespace tracesmith::agent
