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
  std::string capture_problem;     ///< why not
  bool library_found = false;
  std::string library;          ///< e.g. "libOpenCL.so.1"
  std::string path;             ///< where it was found
  std::string problem;          ///< why there are no devices; empty when there are
  uint32_t driver_version = 0;  ///< of CUDA: what cuDriverGetVersion() says, 12040 for 12.4
  std::vector<std::string> looked_in;
  std::vector<DeviceRow> devices;  ///< strings of the rows are in `strings`
  StringTable strings;
};

struct ProbeOptions {
  int64_t timeout_ms = 10'000;            ///< for all backends together: they are asked at once
  std::vector<std::string> search_first;  ///< directories to look in before the system's
};

/// The oldest version of CUDA that a driver must know to be recorded, as BackendReport has it.
/// Before that CUPTI has no stamps of the host's clock.
constexpr uint32_t kOldestCudaDriver = 11060;
/// "12.4" of 12040.
std::string cudaVersionText(uint32_t version);

/// One report per backend of PlatformType, in the order of the enum (without Unknown, Simulation).
/// Takes as long as the slowest vendor's library needs to start, at most 10 s. A library that
/// crashes or hangs is reported as that: each is asked in a process of its own. A CUDA driver that
/// this process uses already is asked here: it is of no use in a forked child.
std::vector<BackendReport> probeBackends();
/// The same for some backends, in the order asked for.
std::vector<BackendReport> probeBackends(const std::vector<PlatformType>& backends,
                                         const ProbeOptions& options);
/// The same for one, asked once in the life of the process. Any thread.
const BackendReport& backendReport(PlatformType backend);

}  // namespace tracesmith
