// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/static_site.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/kept_answers.hpp"
#include "tracesmith/studio/page/packed.hpp"
#include "tracesmith/studio/page/page_files.hpp"

namespace tracesmith::studio {
namespace {

// The page (data/static_files.ts) computes the names of files from these numbers.
constexpr uint64_t kTilesOfFile = 64;
constexpr NameId kNamesOfFile = 1024;

class Site {
 public:
  Site(const StudioTrace& of, std::string folder) : of_(of), folder_(std::move(folder)) {}

  Result<uint64_t> write() {
    TS_CHECK_OK(makeFolder());
    for (const std::string_view file : {"studio.js", "charts.js", "studio.css"}) {
      TS_CHECK_OK(put(std::string(file), pageFile("/" + std::string(file))));
    }
    std::string page = pageFile("/");
    const std::string_view mark = "<div id=\"page\"";
    const size_t at = page.find(mark);
    if (at == std::string::npos) {
      return fail(ErrorCode::kUnsupported,
                  "this build has no page: run script/studio, then build again", "");
    }
    page.insert(at + mark.size(), " data-files=\"data/\"");
    TS_CHECK_OK(put("index.html", page));
    TS_TRY(const std::string answers, keptAnswers(of_, Kept::kAll));
    TS_CHECK_OK(put("data/answers.json.gz", gzip(answers)));
    TS_CHECK_OK(putNames());
    for (const TileKey& key : widestTiles(of_.rows(), SIZE_MAX)) TS_CHECK_OK(putTiles(key));
    return bytes_;
  }

 private:
  Status makeFolder() const {
    std::error_code error;
    std::filesystem::create_directories(folder_ + "/data/tiles", error);
    if (error) return fail(ErrorCode::kIo, error.message(), folder_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      if (entry.path().filename() != "data") {
        return fail(ErrorCode::kInvalidArgument, "is not empty; choose a new folder", folder_);
      }
    }
    return {};
  }

  Status put(const std::string& name, const std::string& content) {
    TS_TRY(Output out, Output::toFile(folder_ + "/" + name));
    out.write(content);
    bytes_ += content.size();
    return out.finish();
  }

  Status putNames() {
    const std::vector<NameId> all = namesIn(of_, SIZE_MAX, SIZE_MAX);
    for (size_t i = 0; i < all.size();) {
      std::vector<NameId> ids;
      const NameId file = all[i] / kNamesOfFile;
      for (; i < all.size() && all[i] / kNamesOfFile == file; ++i) ids.push_back(all[i]);
      TS_CHECK_OK(put(fmt::format("data/names_{}.json.gz", file), gzip(namesAnswer(of_, ids))));
    }
    return {};
  }

  /// The tile and all below it; one that has its items has none below.
  Status putTiles(const TileKey& widest) {
    std::vector<TileKey> level = {widest};
    while (!level.empty()) {
      std::vector<TileKey> below;
      TileBody file(of_.tiles());
      for (size_t i = 0; i < level.size(); ++i) {
        const TileKey& key = level[i];
        const bool has_items = file.add(key);
        const bool last =
            i + 1 == level.size() || level[i + 1].index / kTilesOfFile != key.index / kTilesOfFile;
        if (key.level > 0 && !has_items) {
          below.push_back({key.lane, key.level - 1, 2 * key.index});
          below.push_back({key.lane, key.level - 1, 2 * key.index + 1});
        }
        if (!last) continue;
        TS_CHECK_OK(put(
            fmt::format("data/tiles/{}_{}_{}.gz", key.lane, key.level, key.index / kTilesOfFile),
            gzip(file.bytes())));
        file = TileBody(of_.tiles());
      }
      level = std::move(below);
    }
    return {};
  }

  const StudioTrace& of_;
  const std::string folder_;
  uint64_t bytes_ = 0;
};

}  // namespace

Result<uint64_t> writeStaticSite(const StudioTrace& of, const std::string& folder) {
  return Site(of, folder).write();
}

}  // namespace tracesmith::studio
