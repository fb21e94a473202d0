// SPDX-License-Identifier: Apache-2.0
// For tests: exports a trace to a Perfetto file and reads it back as a viewer would.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tracesmith/export/perfetto/perfetto_reading_test_util.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/export/select/selection_test_util.hpp"

namespace tracesmith {

inline std::string encoded(const Trace& trace, const PerfettoOptions& options = {}) {
  std::string bytes;
  Output out = Output::toString(&bytes);
  const auto summary = writePerfetto(trace, out, options);
  EXPECT_TRUE(summary);
  EXPECT_TRUE(out.finish());
  if (summary) {
    EXPECT_EQ(summary->bytes, bytes.size());
  }
  return bytes;
}

inline reading::File readBack(const Trace& trace, const PerfettoOptions& options = {}) {
  reading::File file(encoded(trace, options));
  for (size_t i = 0; i < std::min<size_t>(file.problems.size(), 5); ++i) {
    ADD_FAILURE() << file.problems[i];
  }
  return file;
}

}  // namespace tracesmith
