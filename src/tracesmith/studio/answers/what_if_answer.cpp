// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tracesmith/emulate/predicted_times.hpp"
#include "tracesmith/emulate/what_if_report.hpp"
#include "tracesmith/model/device_names.hpp"
#include "tracesmith/model/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kPredictionCells = 1000;
constexpr size_t kMostStreams = 100;
constexpr size_t kPredictionRows = 100;

using Work = std::vector<std::pair<DeviceSpan, ItemKind>>;

/// What the timeline has of each piece of device work.
class ShownWork {
 public:
  struct Shown {
    ItemKind kind{};
    StreamId stream{};
  };
  explicit ShownWork(const StudioTrace& of) {
    for (const TimelineRow& row : of.rows().rows) {
      if (!row.on_device) continue;
      for (size_t i = 0; i < row.lane.items().size(); ++i) {
        const DeviceSpan& item = row.lane.items()[i];
        known_[{item.table, item.row}] = {row.lane.kind(i), row.stream};
      }
    }
  }
  Shown of(const PredictedWork& work) const {
    const auto known = known_.find({work.table, work.row});
    return known == known_.end() ? Shown() : known->second;
  }

 private:
  std::map<std::pair<TableId, uint32_t>, Shown> known_;
};

/// Busy part and most frequent kind of each cell of the whole time.
void writeCells(Work work, int64_t whole_ns, JsonWriter& out) {
  std::sort(work.begin(), work.end(),
            [](const auto& a, const auto& b) { return a.first.begin_ns < b.first.begin_ns; });
  std::vector<DeviceSpan> items;
  std::vector<ItemKind> kinds;
  for (const auto& [item, kind] : work) {
    items.push_back(item);
    kinds.push_back(kind);
  }
  const TimelineLane lane(std::move(items), std::move(kinds));
  std::vector<int> busy(kPredictionCells), kind(kPredictionCells);
  for (size_t cell = 0; cell < kPredictionCells; ++cell) {
    const auto at = [&](size_t i) {
      return static_cast<int64_t>(static_cast<double>(whole_ns) * static_cast<double>(i) /
                                  kPredictionCells);
    };
    const int64_t length = std::max<int64_t>(at(cell + 1) - at(cell), 1);
    const TimelineLane::Times times = lane.timesWithin(at(cell), at(cell) + length);
    int64_t sum = 0;
    for (const int64_t ns : times) sum += ns;
    busy[cell] = static_cast<int>(std::min<int64_t>(100 * sum / length, 100));
    kind[cell] = static_cast<int>(std::max_element(times.begin(), times.end()) - times.begin());
  }
  out.beginObject().key("busy").beginArray();
  for (const int value : busy) out.value(value);
  out.endArray().key("kind").beginArray();
  for (const int value : kind) out.value(value);
  out.endArray().endObject();
}

struct StreamWork {
  std::string label;
  Work recorded, predicted;
};

std::map<uint32_t, StreamWork> byStream(const StudioTrace& of, const PredictedTimes& times) {
  const std::vector<std::string> names = distinctStreamNames(of.trace());
  const ShownWork shown(of);
  std::map<uint32_t, StreamWork> out;
  for (const PredictedWork& work : times.work) {
    const auto [kind, stream] = shown.of(work);
    StreamWork& before = out[work.stream];
    if (before.label.empty()) {
      before.label = stream == StreamId::kNone ? "no stream" : names[indexOf(stream)];
    }
    before.recorded.push_back({{work.begin_ns, work.end_ns, work.table, work.row}, kind});
    if (work.gone) continue;
    out[work.predicted_stream].predicted.push_back(
        {{work.predicted_begin_ns, work.predicted_end_ns, work.table, work.row}, kind});
  }
  return out;
}

}  // namespace

Result<std::string> whatIfAnswer(const StudioTrace& of, const WhatIfRequest& request) {
  TS_CHECK_OK(haveOneClock(of.trace()));
  TS_TRY(const WhatIf change, WhatIf::parse(request.texts));
  const EmulatorOptions emulator{.allow_unmatched = request.allow_unmatched};
  TS_TRY(const std::vector<ReportTable> report,
         whatIfReport(of.trace(), change, {.emulator = emulator, .limit = kPredictionRows}));
  TS_TRY(const PredictedTimes times, predictTimes(of.trace(), change, emulator));
  const int64_t whole = std::max<int64_t>({times.recorded_ns, times.predicted_ns, 1});
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("recorded_ns", times.recorded_ns);
    out.field("unchanged_ns", times.unchanged_ns).field("predicted_ns", times.predicted_ns);
    out.key("streams").beginArray();
    size_t streams = 0;
    for (auto& [number, stream] : byStream(of, times)) {
      if (++streams > kMostStreams) break;
      out.beginObject().field("label", stream.label.empty() ? "new stream" : stream.label);
      out.key("recorded");
      writeCells(std::move(stream.recorded), whole, out);
      out.key("predicted");
      writeCells(std::move(stream.predicted), whole, out);
      out.endObject();
    }
    out.endArray().key("tables").beginArray();
    for (const ReportTable& table : report) writeTableAnswer(table, out);
    out.endArray().endObject();
  });
}

}  // namespace tracesmith::studio
