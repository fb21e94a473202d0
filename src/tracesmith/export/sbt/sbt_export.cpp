// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/sbt/sbt_export.hpp"

#include <algorithm>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/export/select/document_events.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

/// Renumbers the texts that are still referenced.
class UsedStrings {
 public:
  explicit UsedStrings(const StringTable& all) : all_(all), new_ids_(all.size() + 1, 0) {}

  StringId use(StringId id) {
    const auto i = static_cast<size_t>(id);
    if (i == 0 || i >= new_ids_.size()) return StringId::kNone;
    if (new_ids_[i] == 0) new_ids_[i] = static_cast<uint32_t>(used_.append(all_.at(id)));
    return static_cast<StringId>(new_ids_[i]);
  }
  StringTable take() { return std::move(used_); }

 private:
  const StringTable& all_;
  StringTable used_;
  std::vector<uint32_t> new_ids_;
};

/// Collects the sources of the remaining rows.
class KeptSources {
 public:
  KeptSources(TraceReader& reader, const Trace& trace, const KeptRows& kept,
              DocumentEvents& document_events, UsedStrings& strings)
      : reader_(reader),
        trace_(trace),
        kept_(kept),
        document_events_(document_events),
        strings_(strings),
        shapes_(trace.strings) {}

  /// Returns false if a block could not be read, because later sources then cannot be matched with
  /// rows.
  bool collect() {
    for (size_t i = 0; i < reader_.blocks().size(); ++i) {
      if (reader_.blocks()[i].table != TableId::kSource) continue;
      if (!reader_.readSources(i, trace_.strings, shapes_, block_)) return false;
      add();
    }
    forEachTable(trace_, [&](const auto& table) {
      const TableId id = std::decay_t<decltype(table)>::kId;
      if (rows.find(id) != nullptr) fillUp(rows.of(id), table.size());
    });
    return true;
  }

  SourceRows rows;

 private:
  static void fillUp(SourceTable& table, size_t count) {
    while (table.shape.size() < count) {
      table.shape.push_back(0);
      table.values.push_back(static_cast<uint32_t>(table.value.size()));
    }
  }

  /// Sets `place` to the new number of a row; returns false if the row was removed.
  bool placeOf(uint64_t row, uint64_t& place) const {
    const auto it = kept_.find(block_.table);
    if (it == kept_.end()) {
      place = row;
      return true;
    }
    const auto at = std::lower_bound(it->second.begin(), it->second.end(), row);
    place = static_cast<uint64_t>(at - it->second.begin());
    return at != it->second.end() && *at == row;
  }

  uint32_t shapeNumber(StringId id, const std::vector<uint32_t>& places) {
    const auto [it, fresh] = numbers_.try_emplace(id, static_cast<uint32_t>(rows.shapes.size()));
    if (fresh) {
      SourceRows::Shape shape;
      shape.text = strings_.use(id);
      for (const uint32_t leaf : places) {
        shape.leaves.push_back(strings_.use(block_.leaves[leaf].name));
      }
      rows.shapes.push_back(std::move(shape));
    }
    return it->second;
  }

  void add() {
    SourceTable& out = rows.of(block_.table);
    const bool alone = block_.table == SourceRows::kNone;
    std::vector<size_t> next(block_.leaves.size(), 0);
    for (size_t i = 0; i < block_.shape.size(); ++i) {
      const StringId id = block_.shape[i];
      if (id == StringId::kNone) continue;
      const std::vector<uint32_t>& places = block_.places.at(id);
      const SourceShape& shape = *shapes_.at(id);
      values_.clear();
      for (const uint32_t at : places) values_.push_back(block_.leaves[at].values[next[at]++]);
      uint64_t place = 0;
      const bool wanted =
          alone ? document_events_.take(id, shape, values_) : placeOf(block_.first_row + i, place);
      if (!wanted) continue;
      if (!alone) fillUp(out, static_cast<size_t>(place));
      out.shape.push_back(shapeNumber(id, places));
      out.values.push_back(static_cast<uint32_t>(out.value.size()));
      const int64_t* value = values_.data();
      for (const SourceShape::Gap& gap : shape.gaps) {
        if (!isKept(gap.kind)) continue;
        const bool text = gap.kind == SourceGap::kText || gap.kind == SourceGap::kJson;
        const int64_t kept = *value++;
        out.value.push_back(text ? static_cast<int64_t>(strings_.use(static_cast<StringId>(kept)))
                                 : kept);
      }
    }
  }

  TraceReader& reader_;
  const Trace& trace_;
  const KeptRows& kept_;
  DocumentEvents& document_events_;
  UsedStrings& strings_;
  SourceShapes shapes_;
  SourceBlock block_;
  std::vector<int64_t> values_;  // buffer for one row
  std::unordered_map<StringId, uint32_t> numbers_;
};

void renumberStrings(Trace& trace, UsedStrings& strings) {
  forEachTable(trace, [&](auto& table) {
    std::decay_t<decltype(table)>::visitColumns(table, [&](const ColumnInfo&, auto& column) {
      if constexpr (std::is_same_v<typename std::decay_t<decltype(column)>::value_type, StringId>) {
        for (StringId& id : column) id = strings.use(id);
      }
    });
  });
}

Status writeTrace(const std::string& path, const Trace& trace, const SourceRows* sources,
                  bool finish) {
  TS_TRY(TraceWriter writer, TraceWriter::create(path));
  TS_CHECK_OK(writer.write(trace, sources));
  return finish ? writer.finish() : Status();
}

Result<RecordingCopy> addRecording(const std::string& recording, const std::string& path) {
  TS_TRY(sbt::BlockAppender file, sbt::BlockAppender::resume(path, UINT64_MAX));
  TS_TRY(RecordingCopy copy, copyRecording(recording, file));
  sbt::BlockBuilder builder(1);
  TS_CHECK_OK(file.writeIndexAndEnd(builder));
  return copy;
}

/// File names are reused, so a recording next to a trace may belong to an earlier run. A trace
/// without process data is accepted.
Status checkSameRun(const std::string& path, const Trace& trace) {
  TS_TRY(const RecordingReader reader, RecordingReader::open(path));
  if (reader.path() != path) TS_CHECK_OK(checkSameSession(reader, path));
  const ProcessTable& processes = trace.process;
  bool any = false;
  for (size_t i = 0; i < processes.size(); ++i) {
    if (processes.pid[i] == 0) continue;
    any = true;
    for (const recording::Process& p : reader.processes()) {
      const uint64_t ticks = processes.start_ticks[i];
      const bool other = ticks != 0 && p.start_ticks != 0 && ticks != p.start_ticks;
      if (p.pid == processes.pid[i] && !other) return {};
    }
  }
  if (!any || reader.processes().empty()) return {};
  return fail(ErrorCode::kInvalidArgument,
              "is a recording of other processes than the trace's: they are from different runs",
              reader.path());
}

}  // namespace

Result<SbtExport> exportSbt(TraceReader& reader, Trace& trace, const Selection& selection,
                            const RowChoice& choice, const std::string& path,
                            const std::optional<std::string>& recording) {
  if (recording) TS_CHECK_OK(checkSameRun(*recording, trace));
  TS_TRY(TargetFile target, TargetFile::open(path));
  SbtExport result;
  const KeptRows kept = keepRows(trace, selection, choice);
  trace.pending.clear();
  trace.commit_mark.clear();
  UsedStrings strings(trace.strings);
  DocumentEvents document_events(trace, selection, choice);
  KeptSources sources(reader, trace, kept, document_events, strings);
  // A lost row shifts all later rows relative to their sources.
  result.without_sources = !reader.losses().empty() || !sources.collect();
  if (reader.rows(TableId::kSource) == 0) result.without_sources = false;
  renumberStrings(trace, strings);
  StringTable used = strings.take();
  trace.strings.swap(used);
  const bool with_sources = !result.without_sources && reader.rows(TableId::kSource) != 0;
  const Status written =
      writeTrace(target.place(), trace, with_sources ? &sources.rows : nullptr, !recording);
  if (!written) return tl::unexpected<Error>(target.named(written.error()));
  if (recording) {
    Result<RecordingCopy> copy = addRecording(*recording, target.place());
    if (!copy) return tl::unexpected<Error>(target.named(copy.error()));
    result.recording = std::move(*copy);
  }
  TS_CHECK_OK(target.finish());
  return result;
}

}  // namespace tracesmith
