// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a rocprofv3 document, and as one of its CSV tables.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tracesmith/import/amd/rocprof_csv.hpp"
#include "tracesmith/import/amd/rocprof_json.hpp"
#include "tracesmith/model/trace.hpp"

using namespace tracesmith;          // NOLINT: a program of few functions
using namespace tracesmith::import;  // NOLINT

namespace {

template <class Import>
void tryAs(std::span<const uint8_t> bytes, const Import& with) {
  const int fd = ::memfd_create("trace", MFD_CLOEXEC);
  if (fd < 0) return;
  {
    auto writer = TraceWriter::create("/proc/self/fd/" + std::to_string(fd));
    if (writer) {
      MemorySource source(bytes);
      const Result<ImportCounts> counts = with(source, *writer);
      if (counts && counts->rows > counts->events) std::abort();
    }
  }
  ::close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  tryAs(bytes, [](ByteSource& source, TraceWriter& writer) {
    return importRocprofJson(source, writer, Trace{});
  });
  tryAs(bytes, [](ByteSource& source, TraceWriter& writer) {
    return importRocprofCsv(source, writer, Trace{});
  });
  return 0;
}
