// SPDX-License-Identifier: Apache-2.0
// The small file that docs/sbt.md shows byte by byte. With TRACESMITH_SMALL_TRACE=FILE the test
// writes it there; tests/format compares it with the document.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

TEST(SbtNorm, TheSmallFileOfTheDocumentIsReadBack) {
  const test::TempFile temporary;
  const char* keep = std::getenv("TRACESMITH_SMALL_TRACE");
  const std::string path = keep != nullptr ? keep : temporary.path();

  Trace trace;
  const StringId add = trace.strings.intern("add");
  const StringId scale = trace.strings.intern("scale");
  trace.kernel.push({.start_ns = 1000, .duration_ns = 5, .name = add});
  trace.kernel.push({.start_ns = 1010, .duration_ns = 5, .name = scale});
  trace.kernel.push({.start_ns = 1030, .duration_ns = 5, .name = add});
  {
    auto writer = TraceWriter::create(path);
    ASSERT_TRUE(writer) << writer.error().toString();
    ASSERT_TRUE(writer->write(trace));
    ASSERT_TRUE(writer->finish());
  }

  auto reader = TraceReader::open(path);
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_TRUE(reader->complete());
  auto read = reader->read();
  ASSERT_TRUE(read) << read.error().toString();
  test::expectSameRows(trace, *read);
  ASSERT_EQ(reader->blocks().size(), 2u) << "one of strings, one of kernels";
  EXPECT_EQ(reader->blocks()[1].min_time_ns, 1000);
  EXPECT_EQ(reader->blocks()[1].max_time_ns, 1035);
}

}  // namespace
}  // namespace tracesmith
