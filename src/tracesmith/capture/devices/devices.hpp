// SPDX-License-Identifier: Apache-2.0
// Reports what each backend finds on this machine: its devices, or the missing library and where it
// was looked for. Vendor libraries are opened at run time; none is linked.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct BackendReport {
  PlatformType backend = PlatformType::Unknown;
  bool capture_supported = false;  ///< this build can capture it
  std::string capture_problem;     ///< why it cannot be captured
  bool library_found = false;
  std::string library;          ///< e.g. "libOpenCL.so.1"
  std::string path;             ///< where it was found
  std::string problem;          ///< why there are no devices; empty when there are
  uint32_t driver_version = 0;  ///< CUDA: as cuDriverGetVersion() reports it, 12040 for 12.4
  std::vector<std::string> looked_in;
  std::vector<DeviceRow> devices;  ///< their strings are in `strings`
  StringTable strings;
};

struct ProbeOptions {
  int64_t timeout_ms = 10'000;  ///< for all backends together, which are asked in parallel
  std::vector<std::string> search_first;  ///< directories to look in before the system's
};

/// The oldest CUDA version of a driver that can be recorded, in the format of BackendReport.
/// Earlier versions of CUPTI have no time stamps of the host's clock.
constexpr uint32_t kOldestCudaDriver = 11060;
/// "12.4" for 12040.
std::string cudaVersionText(uint32_t version);

/// One report per backend of PlatformType, in the order of the enum (without Unknown, Simulation).
/// Takes as long as the slowest vendor's library needs to start, at most 10 s. Each library is
/// asked in a process of its own, so a crash or hang is reported like any other problem. A CUDA
/// driver that is already in use is asked in this process, because it does not work in a forked
/// child.
std::vector<BackendReport> probeBackends();
/// The same for the given backends, in the given order.
std::vector<BackendReport> probeBackends(const std::vector<PlatformType>& backends,
                                         const ProbeOptions& options);
/// The same for one backend, asked once per process. Any thread.
const BackendReport& backendReport(PlatformType backend);

}  // namespace tracesmith
