// SPDX-License-Identifier: Apache-2.0
// For tests: the kept sources of an imported trace, in restored form.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/model/source_rows.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::test {

struct GapColumns {
  const int64_t* start_ns = nullptr;
  const int64_t* duration_ns = nullptr;
  const uint64_t* correlation = nullptr;
};

inline GapColumns gapColumns(const Trace& trace, TableId id) {
  GapColumns c;
  forEachTable(trace, [&](const auto& t) {
    if (std::decay_t<decltype(t)>::kId != id) return;
    if constexpr (requires { t.start_ns; }) c.start_ns = t.start_ns.data();
    if constexpr (requires { t.time_ns; }) c.start_ns = t.time_ns.data();
    if constexpr (requires { t.duration_ns; }) c.duration_ns = t.duration_ns.data();
    if constexpr (requires { t.correlation_id; }) c.correlation = t.correlation_id.data();
  });
  return c;
}

/// The parsed sources of the trace at `path`, for one row out of each group of `every` consecutive
/// rows. Supports only gaps that are not specific to Chrome's units.
inline std::vector<nlohmann::json> sourcesOf(const std::string& path, size_t every = 1) {
  std::vector<nlohmann::json> result;
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader);
  if (!reader) return result;
  const Result<Trace> trace = reader->read();
  EXPECT_TRUE(trace);
  if (!trace) return result;
  SourceShapes shapes(trace->strings);
  for (size_t b = 0; b < reader->blocks().size(); ++b) {
    if (reader->blocks()[b].table != TableId::kSource) continue;
    SourceBlock block;
    EXPECT_TRUE(reader->readSources(b, trace->strings, shapes, block));
    const GapColumns columns = gapColumns(*trace, block.table);
    std::vector<size_t> next(block.leaves.size(), 0);
    for (size_t i = 0; i < block.shape.size(); ++i) {
      const SourceShape* const shape = shapes.at(block.shape[i]);
      if (shape == nullptr) continue;
      const size_t row = block.first_row + i;
      const std::vector<uint32_t>& places = block.places.at(block.shape[i]);
      size_t kept = 0;
      std::string text;
      const auto value = [&] {
        const uint32_t leaf = places[kept++];
        return block.leaves[leaf].values[next[leaf]++];
      };
      for (size_t g = 0; g < shape->between.size(); ++g) {
        text += shape->between[g];
        if (g >= shape->gaps.size()) continue;
        switch (shape->gaps[g].kind) {
          case SourceGap::kTimeNanos:
            text += std::to_string(columns.start_ns[row]);
            break;
          case SourceGap::kEndNanos:
            text += std::to_string(columns.start_ns[row] + columns.duration_ns[row]);
            break;
          case SourceGap::kCorrelation:
            text += std::to_string(columns.correlation[row]);
            break;
          case SourceGap::kInteger:
            text += std::to_string(value());
            break;
          case SourceGap::kDecimal: {
            const int64_t thousandths = value();
            const std::string fraction = std::to_string(1000 + std::abs(thousandths % 1000));
            text += (thousandths < 0 ? "-" : "") + std::to_string(std::abs(thousandths / 1000)) +
                    "." + fraction.substr(1);
            break;
          }
          case SourceGap::kText:
            text += nlohmann::json(trace->text(StringId{static_cast<uint32_t>(value())})).dump();
            break;
          case SourceGap::kJson:
            text += trace->text(StringId{static_cast<uint32_t>(value())});
            break;
          default:
            ADD_FAILURE() << "a gap of another kind";
        }
      }
      if (i % every != 0) continue;
      result.push_back(nlohmann::json::parse(text, nullptr, false));
      EXPECT_FALSE(result.back().is_discarded()) << text;
    }
  }
  return result;
}

}  // namespace tracesmith::test
