// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/emulate/predicted_times.hpp"
#include "tracesmith/emulate/what_if_report.hpp"
#include "tracesmith/model/names/device_names.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
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
        const DeviceSpan item = row.lane.items()[i];
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

/// Busy part, in percent, and most frequent kind of each cell of the whole time.
void writeCells(const Work& work, int64_t whole_ns, JsonWriter& out) {
  std::vector<TimelineLane::Times> cells(kPredictionCells);
  const double cell_ns = static_cast<double>(whole_ns) / kPredictionCells;
  const auto cellAt = [&](int64_t ns) {
    const double cell = std::max(static_cast<double>(ns), 0.0) / cell_ns;
    return std::min(static_cast<size_t>(cell), kPredictionCells - 1);
  };
  for (const auto& [item, kind] : work) {
    for (size_t cell = cellAt(item.begin_ns); cell <= cellAt(item.end_ns); ++cell) {
      const auto begin = static_cast<int64_t>(cell_ns * static_cast<double>(cell));
      const auto end = static_cast<int64_t>(cell_ns * static_cast<double>(cell + 1));
      cells[cell][static_cast<size_t>(kind)] +=
          std::max<int64_t>(std::min(item.end_ns, end) - std::max(item.begin_ns, begin), 0);
    }
  }
  out.beginObject().key("busy").beginArray();
  for (const TimelineLane::Times& times : cells) {
    const auto ns = static_cast<double>(std::accumulate(times.begin(), times.end(), int64_t{0}));
    out.value(static_cast<int>(std::min(std::ceil(100 * ns / cell_ns), 100.0)));
  }
  out.endArray().key("kind").beginArray();
  for (const TimelineLane::Times& times : cells) {
    out.value(std::max_element(times.begin(), times.end()) - times.begin());
  }
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
  TS_CHECK_OK(checkCancelled());
  const int64_t whole = std::max<int64_t>({times.recorded_ns, times.predicted_ns, 1});
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("recorded_ns", times.recorded_ns);
    out.field("unchanged_ns", times.unchanged_ns).field("predicted_ns", times.predicted_ns);
    out.key("streams").beginArray();
    size_t streams = 0;
    for (const auto& [number, stream] : byStream(of, times)) {
      if (++streams > kMostStreams) break;
      out.beginObject().field("label", stream.label.empty() ? "new stream" : stream.label);
      out.key("recorded");
      writeCells(stream.recorded, whole, out);
      out.key("predicted");
      writeCells(stream.predicted, whole, out);
      out.endObject();
    }
    out.endArray().key("tables").beginArray();
    for (const ReportTable& table : report) writeTableAnswer(table, out);
    out.endArray().endObject();
  });
}

}  // namespace tracesmith::studio
