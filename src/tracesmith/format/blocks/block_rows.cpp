// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/block_rows.hpp"

namespace tracesmith::sbt {

void RowDecoder::note(const ColumnInfo& info, Problem problem) {
  dropped = !rows_stay && info.encoding != Encoding::kId;
  problem.text = "column " + std::string(info.name) + " of " + table + ": " + problem.text;
  problems.push_back({std::move(problem), dropped});
}

void RowDecoder::noteUnknown(std::span<const ColumnInfo> schema) {
  for (const ColumnEntry& entry : block.entries()) {
    const bool known = std::any_of(schema.begin(), schema.end(), [&](const ColumnInfo& info) {
      return info.number == entry.column;
    });
    if (known || entry.column >= kFirstHintColumn) continue;
    problems.push_back({newerVersion("column " + std::to_string(entry.column) + " of " + table +
                                     " is unknown to this version"),
                        false});
  }
}

std::vector<ColumnProblem> appendStrings(BlockContents& block, StringTable& strings) {
  std::vector<uint64_t> lengths(block.rows(), 0);
  ByteView text;
  Problem problem;
  if (const auto* entry = block.find(static_cast<uint16_t>(StringColumn::kLength))) {
    problem = block.words(*entry, lengths);
  }
  if (!problem) {
    if (const auto* entry = block.find(static_cast<uint16_t>(StringColumn::kText))) {
      problem = block.bytes(*entry, text);
    }
  }
  if (!problem) {
    uint64_t left = text.size();
    for (uint64_t length : lengths) {
      if (length > left) {
        problem = damaged("its lengths exceed its text");
        break;
      }
      left -= length;
    }
  }
  if (problem) {
    for (uint32_t i = 0; i < block.rows(); ++i) strings.append({});
    problem.text = "strings: " + problem.text;
    return {{std::move(problem), false}};
  }
  size_t at = 0;
  for (uint64_t length : lengths) {
    strings.append(asText(text.subspan(at, static_cast<size_t>(length))));
    at += static_cast<size_t>(length);
  }
  return {};
}

}  // namespace tracesmith::sbt
