// SPDX-License-Identifier: Apache-2.0
// Describes handles to the collector, once each. Not on the launch path.
#pragma once

#include "tracesmith/capture/agents/opencl/recorder.hpp"

namespace tracesmith::agent {

void recordObject(ObjectKind kind, uint64_t handle, uint64_t parent, uint64_t other,
                  uint32_t properties, const char* name, uint32_t name_bytes);

/// Records a context and, when they are first seen, its devices.
void describeContext(cl_context context);
void describeDevice(cl_device_id device);
void describeQueue(cl_command_queue queue, cl_context context, cl_device_id device,
                   cl_command_queue_properties asked_for);
void describeKernel(cl_kernel kernel);

/// Records an allocation and, through the driver's own callback, its release.
void describeMemory(const HostCall& call, cl_mem memory, cl_context context, bool allocates);

}  // namespace tracesmith::agent
