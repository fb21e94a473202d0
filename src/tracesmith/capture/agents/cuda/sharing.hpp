// SPDX-License-Identifier: Apache-2.0
// Sharing of CUPTI with other tools that permit it (CUDA 13.3 and later), with records that contain
// only the fields that are read.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture/agents/cuda/captured_kinds.hpp"

namespace tracesmith::agent {

/// Subscribes, registers the buffers and enables the captured kinds. False: this library or another
/// tool does not permit it; everything is undone. Needs the shared file.
bool enterSharing(void* library, uint32_t version, cupti::Callback callback, uint64_t (*clock)(),
                  const CaptureOptions& options, void** subscriber);

bool isSharing();
/// CUPTI's clock for this subscriber. False: CUPTI does not report it.
bool timestampOfSharing(uint64_t* time);
void disableSharing();
/// Unsubscribes and undoes everything.
void leaveSharing();
/// Enables one more kind; returns CUPTI's code.
int enableSharing(cupti::Kind kind);
/// CUPTI has reported the layouts of its records.
bool areLayoutsReported();
/// Records dropped for this subscriber since the last call.
size_t droppedOfSharing();

}  // namespace tracesmith::agent
