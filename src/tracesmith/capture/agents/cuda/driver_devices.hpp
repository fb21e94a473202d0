// SPDX-License-Identifier: Apache-2.0
// Devices as reported by the driver. CUPTI reports devices when contexts are created, which is too
// early for a process that is captured later.
#pragma once

namespace tracesmith::agent {

/// Records all devices. Needs an initialised driver and the shared file.
void defineDevices();

}  // namespace tracesmith::agent
