// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as an XRay log, and as the program that wrote it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tracesmith/import/xray/xray_importer.hpp"
#include "tracesmith/stacks/symbols/xray_symbols.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  XRayImporter importer;
  const size_t events = importer.importBuffer(data, size).size();
  const XRayImporter::Statistics& s = importer.getStatistics();
  if (events > s.records_read || s.records_converted > s.records_read) std::abort();
  // Every record takes at least eight bytes.
  if (s.records_read > size / 8) std::abort();

  const int fd = ::memfd_create("program", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (::write(fd, data, size) == static_cast<ssize_t>(size)) {
    const auto symbols = XRaySymbols::ofBinary("/proc/self/fd/" + std::to_string(fd));
    if (symbols && symbols->functions() > size / 32) std::abort();
  }
  ::close(fd);
  return 0;
}
