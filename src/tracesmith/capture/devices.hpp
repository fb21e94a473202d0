// SPDX-License-Identifier: Apache-2.0
// What each backend sees on this machine: devices, or which library is missing and where it was
// looked for. Vendor libraries are opened at run time; none is linked.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct BackendReport {
  PlatformType backend = PlatformType::Unknown;
  bool capture_supported = false;   ///< this build can record it
  bool library_found = false;
  std::string library;              ///< e.g. "libOpenCL.so.1"
  std::string path;                 ///< where it was found
  std::string problem;              ///< why there are no devices; empty when there are
  std::vector<std::string> looked_in;
  std::vector<DeviceRow> devices;   ///< strings of the rows are in `strings`
  StringTable strings;
};

/// One report per backend of PlatformType, in the order of the enum (without Unknown, Simulation).
/// May take as long as the vendors' libraries need to start.
std::vector<BackendReport> probeBackends();

}  // namespace tracesmith
