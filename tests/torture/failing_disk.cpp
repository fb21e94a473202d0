// SPDX-License-Identifier: Apache-2.0
// Writes a trace at PATH until the disk refuses, and then looks at what is there: the error names
// file and reason, and every row of the writes that had succeeded reads back. The disk is made to
// fail by the caller: a small tmpfs, a limit, or failing_writes.cpp.
// Usage: torture_failing_disk PATH [REASON]   (REASON: a word that the error must have)
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

[[noreturn]] void wrong(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) wrong("usage: torture_failing_disk PATH [REASON]");
  const std::string path = argv[1];
  const std::string reason = argc > 2 ? argv[2] : "";
  uint64_t written = 0;
  Error error;
  {
    auto writer = TraceWriter::create(path);
    if (!writer) {
      error = writer.error();
    } else {
      std::mt19937_64 random(1);
      Trace delta;
      for (uint64_t row = 0; row < 200'000'000;) {
        for (int i = 0; i < 1000; ++i, ++row) {
          delta.kernel.push({.start_ns = static_cast<int64_t>(row),
                             .duration_ns = static_cast<int64_t>(random() >> 1)});
        }
        const Status ok = writer->write(delta);
        if (!ok) {
          error = ok.error();
          break;
        }
        written = row;
        delta.kernel.clear();
      }
      (void)writer->finish();
    }
  }
  if (error.message.empty()) wrong("the disk did not fail");
  const std::string text = error.toString();
  if (text.find(path) == std::string::npos || text.find(reason) == std::string::npos) {
    wrong("the error does not say what and where: " + text);
  }
  auto reader = TraceReader::open(path);
  if (!reader) {
    if (written > 0) wrong("rows were written, but: " + reader.error().toString());
  } else {
    const auto trace = reader->read();
    if (!trace) wrong(trace.error().toString());
    if (!reader->losses().empty()) wrong("damage: " + reader->losses()[0].reason);
    if (trace->kernel.size() < written) {
      wrong(std::to_string(written) + " rows were written, " +
            std::to_string(trace->kernel.size()) + " are there");
    }
    for (size_t i = 0; i < trace->kernel.size(); ++i) {
      if (trace->kernel.start_ns[i] != static_cast<int64_t>(i))
        wrong("a row is not what was written");
    }
  }
  std::printf("%llu rows written and read back; \"%s\"\n", static_cast<unsigned long long>(written),
              text.c_str());
  return 0;
}
