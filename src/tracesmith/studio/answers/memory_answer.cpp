// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>

#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/export/text/stack_lines.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/live_memory.hpp"
#include "tracesmith/model/names/device_names.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostCurvePoints = 2000;
constexpr size_t kMostBlocks = 500;

/// Of each part of the curve, the point with the most bytes; the first and the last stay.
void writeCurve(const MemoryCurve& curve, int64_t zero_ns, JsonWriter& out) {
  const size_t step = (curve.times_ns.size() + kMostCurvePoints - 1) / kMostCurvePoints;
  out.beginArray();
  for (size_t begin = 0; begin < curve.times_ns.size(); begin += step) {
    const auto first = curve.bytes.begin() + static_cast<ptrdiff_t>(begin);
    const size_t count = std::min(step, curve.times_ns.size() - begin);
    const size_t most =
        begin +
        static_cast<size_t>(std::max_element(first, first + static_cast<ptrdiff_t>(count)) - first);
    out.beginArray()
        .value(relativeTo(zero_ns, curve.times_ns[most]))
        .value(curve.bytes[most])
        .endArray();
  }
  out.endArray();
}

struct Block {
  uint32_t row = 0;
  uint64_t bytes = 0;
  DeviceId device{};
};

/// Live blocks after the first `count` changes, the largest first.
std::vector<Block> liveAfter(std::span<const MemoryChange> changes) {
  std::map<uint32_t, Block> live;
  for (const MemoryChange& change : changes) {
    if (change.takes) live.erase(change.taken_row);
    if (change.added > 0) live[change.row] = {change.row, change.added, change.device};
  }
  std::vector<Block> out;
  for (const auto& [row, block] : live) out.push_back(block);
  std::stable_sort(out.begin(), out.end(),
                   [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  return out;
}

/// The number of changes up to the first moment with the most bytes on all places.
size_t changesToPeak(std::span<const MemoryChange> changes) {
  uint64_t bytes = 0, most = 0;
  size_t at = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    bytes += changes[i].added;
    bytes -= changes[i].taken;
    if (bytes > most) {
      most = bytes;
      at = i + 1;
    }
  }
  return at;
}

std::string placeName(const Trace& trace, DeviceId device) {
  return device == DeviceId::kNone ? "host" : deviceName(trace, device);
}

ReportTable blockTable(const StudioTrace& of, std::string key, std::string title,
                       const std::vector<Block>& blocks) {
  const Trace& trace = of.trace();
  ReportTable table{std::move(key),
                    std::move(title),
                    {{"bytes", "bytes", Quantity::kBytes},
                     {"time_ns", "allocated at", Quantity::kTimeNs},
                     {"place", "place", Quantity::kText},
                     {"name", "name", Quantity::kText},
                     {"stack", "allocated by", Quantity::kText}},
                    {},
                    {}};
  const FrameSymbols symbols(trace);
  for (size_t i = 0; i < std::min(blocks.size(), kMostBlocks); ++i) {
    const Block& block = blocks[i];
    std::string stack;
    for (const std::string& line :
         stackLines(trace, symbols, trace.memory_event.call_path_id[block.row])) {
      stack = stack.empty() ? line : line + " ← " + stack;
    }
    table.rows.push_back({static_cast<int64_t>(block.bytes),
                          relativeTo(of.rows().zero_ns, trace.memory_event.time_ns[block.row]),
                          placeName(trace, block.device),
                          std::string(eventName(trace, TableId::kMemoryEvent, block.row)),
                          std::move(stack)});
  }
  if (blocks.size() > kMostBlocks) {
    table.note = "and " + std::to_string(blocks.size() - kMostBlocks) + " smaller blocks";
  }
  return table;
}

}  // namespace

Result<std::string> memoryAnswer(const StudioTrace& of) {
  const Trace& trace = of.trace();
  TS_CHECK_OK(haveOneClock(trace));
  const std::vector<MemoryChange> changes = memoryChanges(trace);
  const MemoryUsage usage = memoryUsage(trace);
  const std::vector<ReportTable> totals =
      analyze(trace, {.parts = {AnalysisPart::kMemory}, .limit = 0});
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("places").beginArray();
    for (const MemoryCurve& curve : memoryCurves(trace)) {
      out.beginObject().field("label", placeName(trace, curve.device)).key("curve");
      writeCurve(curve, of.rows().zero_ns, out);
      out.endObject();
    }
    out.endArray().field("peak_ns",
                         changes.empty() ? 0 : relativeTo(of.rows().zero_ns, usage.all.peak_ns));
    out.key("tables").beginArray();
    for (const ReportTable& table : totals) writeTableAnswer(table, out);
    if (!changes.empty()) {
      const std::span<const MemoryChange> all = changes;
      writeTableAnswer(blockTable(of, "peak_blocks", "Blocks that are allocated at the peak",
                                  liveAfter(all.first(changesToPeak(all)))),
                       out);
      writeTableAnswer(blockTable(of, "never_freed", "Blocks that are never freed", liveAfter(all)),
                       out);
    }
    out.endArray().endObject();
  });
}

}  // namespace tracesmith::studio
