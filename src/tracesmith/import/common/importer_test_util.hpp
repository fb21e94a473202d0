// SPDX-License-Identifier: Apache-2.0
// For tests of importers: imports a source from memory, intact or damaged.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::test {

/// Batches of few rows, as long as it lives: what happens at their end does not depend on their
/// size.
struct SmallBatches {
  static constexpr size_t kRows = 2'000;
  SmallBatches() { import::rows_per_batch = kRows; }
  ~SmallBatches() { import::rows_per_batch = before_; }
  SmallBatches(const SmallBatches&) = delete;
  SmallBatches& operator=(const SmallBatches&) = delete;

 private:
  size_t before_ = import::rows_per_batch;
};

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

/// How a format shows that the end of a document is missing.
enum class Cut : uint8_t {
  kShows,  ///< by an open bracket or element
  kHides,  ///< not at all, between two packets or events
};

/// No row without an event, and each damage is in the trace's losses.
inline void expectAccounts(const ImportedText& got) {
  if (!got.ok) {
    EXPECT_FALSE(got.error.empty());
    return;
  }
  const import::ImportCounts& c = got.counts;
  EXPECT_LE(c.rows + c.others, c.events);
  uint64_t dropped = 0;
  for (size_t i = 0; i < got.trace.loss.size(); ++i) dropped += got.trace.loss.row(i).dropped;
  EXPECT_GE(dropped, c.loss().dropped);
  if (!c.damage.empty()) EXPECT_GT(got.trace.loss.size(), 0u);
}

/// Imports `text` truncated at `cuts` positions, and `mutations` variants with bytes changed,
/// removed or repeated. Each is an error with a message or a trace whose counts hold; a truncated
/// document has no more events than the whole, and says that it is cut where its format shows it.
inline void importDamaged(std::string_view text, Cut cut, size_t cuts, size_t mutations) {
  const ImportedText whole = importText(text);
  ASSERT_TRUE(whole.ok) << whole.error;
  expectAccounts(whole);
  for (size_t i = 0; i < cuts; ++i) {
    const size_t at = 1 + (text.size() - 1) * i / cuts;
    SCOPED_TRACE("cut at " + std::to_string(at));
    const ImportedText got = importText(text.substr(0, at));
    expectAccounts(got);
    if (!got.ok) continue;
    EXPECT_LE(got.counts.events, whole.counts.events);
    EXPECT_LE(got.counts.rows, whole.counts.rows);
    const bool only_space = text.find_first_not_of(" \t\r\n", at) == std::string_view::npos;
    if (cut == Cut::kShows && !only_space) EXPECT_FALSE(got.counts.damage.empty());
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
    const ImportedText got = importText(damaged);
    expectAccounts(got);
    // A change makes two events of one at most.
    if (got.ok) EXPECT_LE(got.counts.events, whole.counts.events + changes);
  }
}

}  // namespace tracesmith::test
