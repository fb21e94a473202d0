// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/kept_answers.hpp"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/studio_notes.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kRowsOfReports = 50;
constexpr size_t kRowsOfAll = 1000;

class Answers {
 public:
  void add(std::string_view question, const std::string& answer) {
    text_ += fmt::format("{}{}:{}", text_.empty() ? "" : ",", jsonText(question), answer);
  }
  Status add(std::string_view question, Result<std::string> answer) {
    if (!answer) return tl::unexpected(std::move(answer.error()));
    add(question, *answer);
    return {};
  }
  std::string json() const { return "{" + text_ + "}"; }

 private:
  static std::string jsonText(std::string_view text) {
    return jsonAnswer([&](JsonWriter& out) { out.value(text); });
  }

  std::string text_;
};

Status addStacks(const StudioTrace& of, Kept kept, Answers& out) {
  for (const std::string_view by : {"device", "host", "launches", "bytes"}) {
    if (kept == Kept::kReport && by != "device") continue;
    for (const int reversed : {0, 1}) {
      const std::string question =
          fmt::format("stacks?by={}&reversed={}&callers_of=", by, reversed);
      TS_CHECK_OK(out.add(question, stacksAnswer(of, QueryValues("/" + question))));
    }
  }
  return {};
}

/// Durations of the kernels that the page lists.
Status addKernels(const StudioTrace& of, Answers& out) {
  const std::vector<ReportTable> tables =
      analyze(of.trace(), {.parts = {AnalysisPart::kKernels}, .limit = 100, .short_names = true});
  for (const std::vector<ReportValue>& row : tables.at(0).rows) {
    const auto& name = std::get<std::string>(row.at(0));
    TS_CHECK_OK(out.add("kernel?name=" + percentEncoded(name), kernelAnswer(of, name)));
  }
  return {};
}

}  // namespace

Result<std::string> keptAnswers(const StudioTrace& of, Kept kept) {
  TS_CHECK_OK(haveOneClock(of.trace()));
  Answers out;
  out.add("trace", traceAnswer(of));
  out.add("findings", findingsAnswer(of));
  out.add("parts", partsAnswer());
  for (size_t i = 0; i < kAnalysisParts; ++i) {
    const std::string_view part = toString(static_cast<AnalysisPart>(i));
    const QueryValues values(fmt::format("/?parts={}&limit={}", part,
                                         kept == Kept::kReport ? kRowsOfReports : kRowsOfAll));
    TS_CHECK_OK(
        out.add(fmt::format("analysis?parts={}&limit=1000", part), analysisAnswer(of, values)));
  }
  TS_TRY(const std::vector<StudioNote> notes, readNotes(of.source().path));
  out.add("notes", notesJson(notes));
  TS_CHECK_OK(out.add("counters", countersAnswer(of, QueryValues("/"))));
  TS_CHECK_OK(out.add("memory", memoryAnswer(of)));
  out.add("info", of.source().info);
  TS_CHECK_OK(addStacks(of, kept, out));
  if (kept == Kept::kAll) TS_CHECK_OK(addKernels(of, out));
  return out.json();
}

bool TileBody::add(const TileKey& key) {
  const std::string tile = tiles_->bytesOf({key});
  bytes_.append(tile, TileSet::kHeader);
  ++count_;
  std::memcpy(bytes_.data() + sizeof(uint32_t), &count_, sizeof count_);
  return TileSet::hasItems(tile);
}

std::vector<TileKey> widestTiles(const TimelineRows& rows, size_t most_lanes) {
  const auto length = static_cast<uint64_t>(lengthOf(rows.zero_ns, rows.end_ns));
  int level = 0;
  while (length >> level >= kTileCells) ++level;
  std::vector<TileKey> keys;
  for (uint32_t lane = 0; lane < rows.rows.size() && keys.size() < most_lanes; ++lane) {
    if (!rows.rows[lane].heading) keys.push_back({lane, level, 0});
  }
  return keys;
}

std::vector<NameId> namesIn(const StudioTrace& of, size_t most_lanes, size_t most_names) {
  std::set<NameId> names;
  for (const TileKey& key : widestTiles(of.rows(), most_lanes)) {
    for (const DeviceSpan item : of.rows().rows[key.lane].lane.items()) {
      if (names.size() < most_names) names.insert(of.names().of(item));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace tracesmith::studio
