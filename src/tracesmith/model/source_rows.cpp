// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/source_rows.hpp"

namespace tracesmith {
namespace {

constexpr char kGapBegins = '\x01';
constexpr char kGapEnds = '\x02';
constexpr std::string_view kLetters = "utedncbfsxlIFSR";

}  // namespace

std::string SourceShape::text() const {
  std::string out;
  for (size_t i = 0; i < between.size(); ++i) {
    out += between[i];
    if (i >= gaps.size()) continue;
    out += kGapBegins;
    out += static_cast<char>(gaps[i].kind);
    out += gaps[i].key;
    out += kGapEnds;
  }
  return out;
}

std::optional<SourceShape> SourceShape::parse(std::string_view text) {
  SourceShape shape;
  for (;;) {
    const size_t gap = text.find(kGapBegins);
    shape.between.emplace_back(text.substr(0, gap));
    if (gap == std::string_view::npos) return shape;
    const size_t end = text.find(kGapEnds, gap);
    if (end == std::string_view::npos || end < gap + 2) return std::nullopt;
    const char letter = text[gap + 1];
    if (kLetters.find(letter) == std::string_view::npos) return std::nullopt;
    shape.gaps.push_back({SourceGap{letter}, std::string(text.substr(gap + 2, end - gap - 2))});
    text.remove_prefix(end + 1);
  }
}

std::string leafName(SourceGap kind, std::string_view key) {
  std::string name(1, static_cast<char>(kind));
  name += key;
  return name;
}

const SourceShape* SourceShapes::at(StringId text) {
  const auto [it, fresh] = parsed_.try_emplace(text);
  if (fresh && text != StringId::kNone) it->second = SourceShape::parse(strings_.at(text));
  return it->second ? &*it->second : nullptr;
}

SourceTable& SourceRows::of(TableId table) {
  for (auto& [id, rows] : tables_) {
    if (id == table) return rows;
  }
  return tables_.emplace_back(table, SourceTable{}).second;
}

const SourceTable* SourceRows::find(TableId table) const {
  for (const auto& [id, rows] : tables_) {
    if (id == table) return &rows;
  }
  return nullptr;
}

void SourceRows::clearRows() {
  for (auto& [id, rows] : tables_) rows.clear();
}

}  // namespace tracesmith
