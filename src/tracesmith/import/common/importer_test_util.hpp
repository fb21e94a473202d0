// SPDX-License-Identifier: Apache-2.0
// For tests of importers: imports a source from memory, intact or damaged.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::test {

struct ImportedText {
  bool ok = false;
  std::string format;
  std::string error;
  import::ImportCounts counts;
  Trace trace;
};

/// Imports `text` with the importer that recognises it.
inline ImportedText importText(std::string_view text) {
  const TempFile file;
  file.write(asBytes(text));
  const TempFile output;
  ImportedText got;
  Result<import::ImportReport> report = import::importTrace(file.path(), output.path());
  if (!report) {
    got.error = report.error().toString();
    return got;
  }
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  if (!reader) return got;
  got.ok = true;
  got.format = report->format;
  got.counts = report->counts;
  got.trace = reader->read().value();
  EXPECT_TRUE(reader->losses().empty());
  return got;
}

/// Imports `text` truncated at `cuts` positions, and `mutations` variants with bytes changed,
/// removed or repeated. None may do worse than return an error.
inline void importDamaged(std::string_view text, size_t cuts, size_t mutations) {
  for (size_t i = 0; i < cuts; ++i) {
    const size_t at = 1 + (text.size() - 1) * i / cuts;
    SCOPED_TRACE("cut at " + std::to_string(at));
    importText(text.substr(0, at));
  }
  std::mt19937 random(20261121);
  for (size_t i = 0; i < mutations; ++i) {
    SCOPED_TRACE("mutation " + std::to_string(i));
    std::string damaged(text);
    const size_t changes = 1 + random() % 4;
    for (size_t c = 0; c < changes && !damaged.empty(); ++c) {
      const size_t at = random() % damaged.size();
      const size_t length = 1 + random() % 16;
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
          break;
        case 2:
          damaged.erase(at, length);
          break;
        default:
          damaged.insert(at, damaged.substr(at, length));
      }
    }
    importText(damaged);
  }
}

}  // namespace tracesmith::test
