// SPDX-License-Identifier: Apache-2.0
// What the categories and names of Kineto's events mean, in all its vocabularies, and of ours.
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
/// Of "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice" and the like.
CopyKind copyKindOf(std::string_view name);
/// Of "Stream Wait Event", "Event Sync" and the like.
SyncKind syncKindOf(std::string_view name);
/// Of functions of the CUDA, HIP and XPU runtimes and drivers; our own exports say it in the
/// category.
CallKind callKindOf(std::string_view function, std::string_view category = {});

}  // namespace tracesmith::import
