// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/report_page.hpp"

#include <fmt/format.h>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/export/output/xml_text.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/kept_answers.hpp"
#include "tracesmith/studio/page/packed.hpp"
#include "tracesmith/studio/page/page_files.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostLanes = 1'000;
constexpr size_t kMostNames = 20'000;
/// Of the tiles, packed and unpacked. Within these, a report has every item.
constexpr size_t kMostPacked = 1 << 20;
constexpr size_t kMostUnpacked = 32 << 20;

/// Levels from the widest tiles down, as long as they have room; a tile with its items has none
/// below it.
std::string tilesOf(const StudioTrace& of) {
  TileBody all(of.tiles());
  std::vector<TileKey> keys = widestTiles(of.rows(), kMostLanes);
  while (!keys.empty()) {
    TileBody with = all;
    std::vector<TileKey> below;
    for (const TileKey& key : keys) {
      if (with.add(key) || key.level == 0) continue;
      below.push_back({key.lane, key.level - 1, 2 * key.index});
      below.push_back({key.lane, key.level - 1, 2 * key.index + 1});
    }
    const bool fits =
        with.bytes().size() <= kMostUnpacked && gzip(with.bytes()).size() <= kMostPacked;
    if (all.count() > 0 && !fits) break;
    all = std::move(with);
    keys = std::move(below);
  }
  return all.bytes();
}

}  // namespace

Result<std::string> reportPage(const StudioTrace& of) {
  const std::string script = pageFile("/studio.js");
  if (script.empty()) {
    return fail(ErrorCode::kUnsupported,
                "this build has no page for reports: run script/studio, then build again", "");
  }
  TS_TRY(const std::string data, keptAnswers(of, Kept::kReport));
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
      "<script type=\"text/plain\" id=\"report-names\">{4}</script>\n"
      "<script type=\"text/plain\" id=\"report-tiles\">{5}</script>\n"
      "<script type=\"module\" nonce=\"{0}\">{6}</script>\n"
      "<script type=\"module\" nonce=\"{0}\">{7}</script>\n</body>\n</html>\n",
      nonce, escapedXml(name), pageFile("/studio.css"), base64(gzip(data)),
      base64(gzip(namesAnswer(of, namesIn(of, kMostLanes, kMostNames)))), base64(gzip(tilesOf(of))),
      pageFile("/charts.js"), script);
}

}  // namespace tracesmith::studio
