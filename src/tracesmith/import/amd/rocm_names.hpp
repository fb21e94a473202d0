// SPDX-License-Identifier: Apache-2.0
// Classification of the names in AMD's traces.
#pragma once

#include <string_view>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith::import {

/// For names such as "CopyHostToDevice" and "MEMORY_COPY_HOST_TO_DEVICE".
CopyKind rocmCopyKind(std::string_view operation);
/// Whether a function counts its grid in work-items (global size) , not in blocks.
bool launchesWorkItems(std::string_view function);
/// Whether `function` belongs to HIP, HSA, RCCL or another AMD library.
bool isRocmFunction(std::string_view function);

}  // namespace tracesmith::import
