// SPDX-License-Identifier: Apache-2.0
// Devices as the driver knows them: CUPTI tells of them when contexts are made, which in a process
// that is captured later was long ago.
#pragma once

namespace tracesmith::agent {

/// Tells of all devices. Needs a driver that is initialised, and the shared file.
void tellDevices();

}  // namespace tracesmith::agent
