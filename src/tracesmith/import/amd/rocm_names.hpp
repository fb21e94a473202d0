// SPDX-License-Identifier: Apache-2.0
// What the names in AMD's traces mean.
#pragma once

#include <string_view>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith::import {

/// Of "CopyHostToDevice", "MEMORY_COPY_HOST_TO_DEVICE" and the like.
CopyKind rocmCopyKind(std::string_view operation);
/// Whether a function counts its grid in work-items (global size) and not in blocks.
bool launchesWorkItems(std::string_view function);
/// Whether it is a function of HIP, HSA, RCCL or another of AMD's libraries.
bool isRocmFunction(std::string_view function);

}  // namespace tracesmith::import
