// SPDX-License-Identifier: Apache-2.0
// Classifies the categories and names of events written by Kineto (all its vocabularies) and by
// TraceSmith.
#pragma once

#include <cstdint>
#include <string_view>

#include "tracesmith/model/kinds.hpp"

namespace tracesmith::import {

enum class ChromeKind : uint8_t {
  kHostRange,  ///< anything on a thread
  kDeviceRange,
  kHostCall,
  kKernel,
  kCopy,
  kFill,
  kSync,
};

ChromeKind kindOf(std::string_view category);
/// For names such as "Memcpy HtoD (Pageable -> Device)" and "CopyHostToDevice".
CopyKind copyKindOf(std::string_view name);
/// For names such as "Stream Wait Event" and "Event Sync".
SyncKind syncKindOf(std::string_view name);
/// For functions of the CUDA, HIP and XPU runtimes and drivers. TraceSmith's own exports give the
/// kind in the category.
CallKind callKindOf(std::string_view function, std::string_view category = {});

}  // namespace tracesmith::import
