// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/rank_list.hpp"

#include <algorithm>
#include <charconv>

#include "tracesmith/base/hash.hpp"

namespace tracesmith::import {
namespace {

constexpr int64_t kHighestRank = INT32_MAX;

std::string_view withoutSpaces(std::string_view text) {
  const auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<RankList> RankList::read(std::string_view text) {
  text = withoutSpaces(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  RankList list;
  if (withoutSpaces(text).empty()) return list;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = withoutSpaces(text.substr(at, comma - at));
    at = comma + 1;
    if (part == "...") {
      list.is_whole_ = false;
      continue;
    }
    int64_t rank = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), rank);
    if (error != std::errc() || end != part.data() + part.size() || rank < 0 ||
        rank > kHighestRank) {
      return std::nullopt;
    }
    ++list.size_;
    if (!list.runs_.empty() && list.runs_.back().first + list.runs_.back().second == rank) {
      ++list.runs_.back().second;
    } else {
      list.runs_.emplace_back(rank, 1);
    }
  }
  return list;
}

int64_t RankList::placeOf(int64_t rank) const {
  int64_t before = 0;
  for (const auto& [first, count] : runs_) {
    if (rank >= first && rank < first + count) return is_whole_ ? before + rank - first : -1;
    before += count;
  }
  return -1;
}

std::string RankList::text() const {
  std::string text;
  for (const auto& [first, count] : runs_) {
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (count > 1) text += '-' + std::to_string(first + count - 1);
  }
  return is_whole_ ? text : text + ",...";
}

uint64_t communicatorKey(std::string_view name, const RankList* ranks) {
  std::string identity(name);
  if (ranks != nullptr && ranks->isWhole() && ranks->size() > 0) identity += '\0' + ranks->text();
  return std::max<uint64_t>(hash64(asBytes(identity)), 1);
}

}  // namespace tracesmith::import
