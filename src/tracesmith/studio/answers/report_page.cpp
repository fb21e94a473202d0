// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/report_page.hpp"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <cstring>
#include <set>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/model/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/page/page_files.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostLanes = 1'000;
constexpr size_t kMostNames = 20'000;
/// Of the tiles, packed and unpacked. Within these, a report has every item.
constexpr size_t kMostPacked = 1 << 20;
constexpr size_t kMostUnpacked = 32 << 20;

std::string gzip(std::string_view bytes) {
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  std::string work(ISAL_DEF_LVL3_DEFAULT, '\0');
  stream.level = 3;
  stream.level_buf = reinterpret_cast<uint8_t*>(work.data());
  stream.level_buf_size = static_cast<uint32_t>(work.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  std::string in(bytes);  // it takes no constant
  std::string out(in.size() + in.size() / 8 + 1024, '\0');
  stream.next_in = reinterpret_cast<uint8_t*>(in.data());
  stream.avail_in = static_cast<uint32_t>(in.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  (void)isal_deflate_stateless(&stream);  // fails only if `out` were too small
  out.resize(stream.total_out);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// One tile of each lane has the whole trace.
std::vector<TileKey> widestTiles(const TimelineRows& rows) {
  const auto length = static_cast<uint64_t>(lengthOf(rows.zero_ns, rows.end_ns));
  int level = 0;
  while (length >> level >= kTileCells) ++level;
  std::vector<TileKey> keys;
  for (uint32_t lane = 0; lane < rows.rows.size() && keys.size() < kMostLanes; ++lane) {
    if (!rows.rows[lane].heading) keys.push_back({lane, level, 0});
  }
  return keys;
}

/// Levels from the widest tiles down, as long as they have room; a tile with its items has none
/// below it.
std::string tilesOf(const StudioTrace& of) {
  std::string all = of.tiles().bytesOf({});
  uint32_t count = 0;
  std::vector<TileKey> keys = widestTiles(of.rows());
  while (!keys.empty()) {
    std::string with = all;
    std::vector<TileKey> below;
    for (const TileKey& key : keys) {
      const std::string tile = of.tiles().bytesOf({key});
      with.append(tile, TileSet::kHeader);
      if (key.level == 0 || TileSet::hasItems(tile)) continue;
      below.push_back({key.lane, key.level - 1, 2 * key.index});
      below.push_back({key.lane, key.level - 1, 2 * key.index + 1});
    }
    if (count > 0 && (with.size() > kMostUnpacked || gzip(with).size() > kMostPacked)) break;
    all = std::move(with);
    count += static_cast<uint32_t>(keys.size());
    keys = std::move(below);
  }
  std::memcpy(all.data() + sizeof count, &count, sizeof count);
  return all;
}

std::vector<NameId> namesIn(const StudioTrace& of) {
  std::set<NameId> names;
  for (const TileKey& key : widestTiles(of.rows())) {
    for (const DeviceSpan& item : of.rows().rows[key.lane].lane.items()) {
      if (names.size() < kMostNames) names.insert(of.names().of(item));
    }
  }
  return {names.begin(), names.end()};
}

Result<std::string> dataOf(const StudioTrace& of) {
  std::string out = "{\"trace\":" + traceAnswer(of);
  out += ",\"findings\":" + tablesAnswer(of.findings());
  out += ",\"parts\":" + partsAnswer() + ",\"analysis\":{";
  for (size_t i = 0; i < kAnalysisParts; ++i) {
    const std::string part(toString(static_cast<AnalysisPart>(i)));
    TS_TRY(const std::string tables, analysisAnswer(of, QueryValues("/?limit=50&parts=" + part)));
    out += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", part, tables);
  }
  out += "},\"names\":" + namesAnswer(of, namesIn(of)) + "}";
  return out;
}

}  // namespace

Result<std::string> reportPage(const StudioTrace& of) {
  TS_CHECK_OK(haveOneClock(of.trace()));
  const std::string script = pageFile("/studio.js");
  if (script.empty()) {
    return fail(ErrorCode::kUnsupported,
                "this build has no page for reports: run script/studio, then build again", "");
  }
  TS_TRY(const std::string data, dataOf(of));
  // What the names of a trace cannot guess; only what has it may run.
  const std::string nonce =
      fmt::format("{:016x}", hash64({reinterpret_cast<const uint8_t*>(data.data()), data.size()}));
  const size_t slash = of.source().path.rfind('/');
  const std::string name = of.source().path.substr(slash == std::string::npos ? 0 : slash + 1);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'nonce-{0}'; style-src 'nonce-{0}'; img-src data: blob:; base-uri 'none'; form-action "
      "'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{1}</title>\n<style nonce=\"{0}\">{2}</style>\n</head>\n"
      "<body><div id=\"page\"></div>\n"
      "<script type=\"text/plain\" id=\"report-answers\">{3}</script>\n"
      "<script type=\"text/plain\" id=\"report-tiles\">{4}</script>\n"
      "<script type=\"module\" nonce=\"{0}\">{5}</script>\n</body>\n</html>\n",
      nonce, escaped(name), pageFile("/studio.css"), base64(gzip(data)), base64(gzip(tilesOf(of))),
      script);
}

}  // namespace tracesmith::studio
