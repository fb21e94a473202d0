// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rocm_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tracesmith::import {

CopyKind rocmCopyKind(std::string_view operation) {
  constexpr auto kWords = std::to_array<std::pair<std::string_view, CopyKind>>({
      {"HostToDevice", CopyKind::kHostToDevice},
      {"DeviceToHost", CopyKind::kDeviceToHost},
      {"DeviceToDevice", CopyKind::kDeviceToDevice},
      {"HostToHost", CopyKind::kHostToHost},
      {"PeerToPeer", CopyKind::kPeerToPeer},
      {"HOST_TO_DEVICE", CopyKind::kHostToDevice},
      {"DEVICE_TO_HOST", CopyKind::kDeviceToHost},
      {"DEVICE_TO_DEVICE", CopyKind::kDeviceToDevice},
      {"HOST_TO_HOST", CopyKind::kHostToHost},
  });
  for (const auto& [word, kind] : kWords) {
    if (operation.find(word) != std::string_view::npos) return kind;
  }
  return CopyKind::kUnknown;
}

bool launchesWorkItems(std::string_view function) {
  return function.starts_with("hipExtModuleLaunchKernel") ||
         function.starts_with("hipHccModuleLaunchKernel");
}

bool isRocmFunction(std::string_view function) {
  constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"hip", "__hip", "hsa_", "nccl", "mscclpp", "rocDec", "rocJpeg"});
  // Names such as "hip_activity" belong to the tracer itself.
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return function.starts_with(prefix); });
}

}  // namespace tracesmith::import
