// SPDX-License-Identifier: Apache-2.0
// For fuzz targets: passes any bytes as a file through one importer and checks that the trace is
// readable.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::test {

inline void importBytes(const import::Importer& importer, const uint8_t* data, size_t size) {
  const int in = ::memfd_create("source", MFD_CLOEXEC);
  const int out = ::memfd_create("trace", MFD_CLOEXEC);
  if (in < 0 || out < 0) std::abort();
  if (::write(in, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string from = "/proc/self/fd/" + std::to_string(in);
  const std::string to = "/proc/self/fd/" + std::to_string(out);
  const auto input = import::ImportInput::open(from);
  if (input && importer.recognises(*input)) {
    auto writer = TraceWriter::create(to);
    if (!writer) std::abort();
    if (importer.run(*input, *writer, Trace{})) {
      if (!writer->finish()) std::abort();
      auto reader = TraceReader::open(to);
      if (!reader || !reader->read() || !reader->losses().empty()) std::abort();
    }
  }
  ::close(in);
  ::close(out);
}

}  // namespace tracesmith::test
