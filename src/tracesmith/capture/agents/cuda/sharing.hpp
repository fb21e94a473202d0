// SPDX-License-Identifier: Apache-2.0
// CUPTI shared with other tools that let others in, which CUDA 13.3 and later can; and records of
// the fields that are read, no others.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/agents/cuda/captured_kinds.hpp"

namespace tracesmith::agent {

/// Subscribes, registers the buffers and enables what is captured. False: this library, or who else
/// uses it, does not have it so, and nothing of it is left. Needs the shared file.
bool enterSharing(void* library, uint32_t version, cupti::Callback callback, uint64_t (*clock)(),
                  const CaptureOptions& options, void** subscriber);

bool isSharing();
/// CUPTI's clock, as this subscriber has it. False: it does not tell.
bool timestampOfSharing(uint64_t* time);
void disableSharing();
/// Nothing of it is left.
void leaveSharing();
/// One more kind; CUPTI's code.
int enableSharing(cupti::Kind kind);
/// CUPTI has told how its records lie.
bool layoutsAreTold();
/// Of this subscriber, since it was asked last.
size_t droppedOfSharing();

}  // namespace tracesmith::agent
