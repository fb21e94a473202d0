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
  bool capture_supported = false;  ///< this build can record it
  bool library_found = false;
  std::string library;  ///< e.g. "libOpenCL.so.1"
  std::string path;     ///< where it was found
  std::string problem;  ///< why there are no devices; empty when there are
  std::vector<std::string> looked_in;
  std::vector<DeviceRow> devices;  ///< strings of the rows are in `strings`
  StringTable strings;
};

struct ProbeOptions {
  int64_t timeout_ms = 10'000;            ///< for all backends together: they are asked at once
  std::vector<std::string> search_first;  ///< directories to look in before the system's
};

/// One report per backend of PlatformType, in the order of the enum (without Unknown, Simulation).
/// Takes as long as the slowest vendor's library needs to start, at most 10 s. A library that
/// crashes or hangs is reported as that: each is asked in a process of its own.
std::vector<BackendReport> probeBackends();
/// The same for some backends, in the order asked for.
std::vector<BackendReport> probeBackends(const std::vector<PlatformType>& backends,
                                         const ProbeOptions& options);

}  // namespace tracesmith
