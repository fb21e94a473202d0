// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/request_values.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tracesmith::studio {
namespace {

constexpr size_t kMostTiles = 512;
constexpr size_t kMostChanges = 100;
constexpr size_t kMostIds = 4096;

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hexValue(text[i + 1]) >= 0 &&
        hexValue(text[i + 2]) >= 0) {
      out += static_cast<char>(hexValue(text[i + 1]) * 16 + hexValue(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

tl::unexpected<Error> notUsable(const char* what) {
  return fail(ErrorCode::kInvalidArgument, "the body is not what Studio's page sends", what);
}

/// Calls f(object) with the body; false: it is no JSON object, or f says so.
template <class F>
bool withObject(const std::string& body, F&& f) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(body)).get(object) != simdjson::SUCCESS) return false;
  return f(object);
}

template <class T>
bool numberOf(simdjson::dom::element element, T most, T& out) {
  uint64_t value = 0;
  if (element.get(value) != simdjson::SUCCESS || value > static_cast<uint64_t>(most)) return false;
  out = static_cast<T>(value);
  return true;
}

}  // namespace

QueryValues::QueryValues(std::string_view target) {
  const size_t mark = std::min(target.find('?'), target.size());
  path_ = target.substr(0, mark);
  target.remove_prefix(std::min(mark + 1, target.size()));
  while (!target.empty()) {
    const size_t end = std::min(target.find('&'), target.size());
    const std::string_view pair = target.substr(0, end);
    const size_t equals = std::min(pair.find('='), pair.size());
    values_.emplace_back(decoded(pair.substr(0, equals)),
                         decoded(pair.substr(std::min(equals + 1, pair.size()))));
    target.remove_prefix(std::min(end + 1, target.size()));
  }
}

std::optional<std::string> QueryValues::text(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Result<std::optional<uint64_t>> QueryValues::number(std::string_view name, uint64_t most) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::optional<uint64_t>();
  uint64_t out = 0;
  const char* const end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, out);
  if (error != std::errc() || stop != end || out > most) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("must be a whole number from 0 to {}", most), std::string(name));
  }
  return std::optional(out);
}

Result<uint64_t> QueryValues::needNumber(std::string_view name, uint64_t most) const {
  TS_TRY(const std::optional<uint64_t> value, number(name, most));
  if (!value) return fail(ErrorCode::kInvalidArgument, "is missing", std::string(name));
  return *value;
}

std::string percentEncoded(std::string_view text) {
  constexpr std::string_view kPlain = "-_.!~*'()";
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<std::vector<TileKey>> tileKeysOf(const std::string& body) {
  std::vector<TileKey> keys;
  const bool usable = withObject(body, [&](simdjson::dom::object object) {
    simdjson::dom::array tiles;
    if (object["tiles"].get(tiles) != simdjson::SUCCESS || tiles.size() > kMostTiles) return false;
    for (const simdjson::dom::element tile : tiles) {
      simdjson::dom::array parts;
      if (tile.get(parts) != simdjson::SUCCESS || parts.size() != 3) return false;
      TileKey key;
      if (!numberOf(parts.at(0).value(), UINT32_MAX, key.lane) ||
          !numberOf(parts.at(1).value(), kHighestLevel, key.level) ||
          !numberOf(parts.at(2).value(), UINT64_MAX, key.index)) {
        return false;
      }
      keys.push_back(key);
    }
    return true;
  });
  if (!usable) return notUsable("tiles");
  return keys;
}

Result<std::vector<uint32_t>> idsOf(const std::string& body) {
  std::vector<uint32_t> ids;
  const bool usable = withObject(body, [&](simdjson::dom::object object) {
    simdjson::dom::array list;
    if (object["ids"].get(list) != simdjson::SUCCESS || list.size() > kMostIds) return false;
    for (const simdjson::dom::element element : list) {
      if (!numberOf(element, UINT32_MAX, ids.emplace_back())) return false;
    }
    return true;
  });
  if (!usable) return notUsable("ids");
  return ids;
}

Result<WhatIfRequest> whatIfRequestOf(const std::string& body) {
  WhatIfRequest out;
  const std::pair<std::string_view, std::vector<std::string>*> lists[] = {
      {"scale", &out.texts.scale},
      {"remove", &out.texts.remove},
      {"fuse", &out.texts.fuse},
      {"bandwidth", &out.texts.bandwidth}};
  const bool usable = withObject(body, [&](simdjson::dom::object object) {
    for (const auto& [key, texts] : lists) {
      simdjson::dom::array list;
      if (object[key].get(list) != simdjson::SUCCESS) continue;
      for (const simdjson::dom::element element : list) {
        std::string_view text;
        if (element.get(text) != simdjson::SUCCESS || texts->size() == kMostChanges) return false;
        texts->emplace_back(text);
      }
    }
    simdjson::dom::element streams;
    uint64_t number = 0;
    if (object["streams"].get(streams) == simdjson::SUCCESS) {
      if (!numberOf<uint64_t>(streams, INT64_MAX, number)) return false;
      out.texts.streams = number;
    }
    if (object["allow_unmatched"].get(out.allow_unmatched) != simdjson::SUCCESS) {
      out.allow_unmatched = false;
    }
    return true;
  });
  if (!usable) return notUsable("changes");
  return out;
}

Result<SqlRequest> sqlRequestOf(const std::string& body) {
  SqlRequest out;
  const bool usable = withObject(body, [&](simdjson::dom::object object) {
    std::string_view sql;
    if (object["sql"].get(sql) != simdjson::SUCCESS) return false;
    out.sql = sql;
    simdjson::dom::element limit;
    return object["limit"].get(limit) == simdjson::SUCCESS &&
           numberOf<uint64_t>(limit, INT64_MAX, out.limit);
  });
  if (!usable) return notUsable("sql");
  return out;
}

}  // namespace tracesmith::studio
