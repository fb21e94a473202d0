// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/sbt/rank_merge.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/model/id_mapping.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

/// The ids of one rank follow those of the ranks before it. An id of no row becomes "none", so that
/// it does not name a row of the next rank.
template <class Id>
struct ShiftedIds {
  uint64_t before = 0;
  uint64_t count = 0;
  Id operator()(Id id) const {
    const auto i = static_cast<uint64_t>(id);
    return i == 0 || i > count ? Id{} : static_cast<Id>(static_cast<uint32_t>(before + i));
  }
};

struct MergedIds : ShiftedIds<ProcessId>,
                   ShiftedIds<ThreadId>,
                   ShiftedIds<DeviceId>,
                   ShiftedIds<ContextId>,
                   ShiftedIds<StreamId>,
                   ShiftedIds<ShapeId>,
                   ShiftedIds<CallPathId>,
                   ShiftedIds<FrameId>,
                   ShiftedIds<ClockDomainId>,
                   ShiftedIds<CounterTrackId>,
                   ShiftedIds<LossId>,
                   ShiftedIds<TopologyNodeId>,
                   ShiftedIds<CommunicatorId> {
  MergedIds(const StringTable& from, StringTable& to)
      : from_(from), to_(to), texts_(from.size() + 1, StringId::kNone) {}

  using ShiftedIds<ProcessId>::operator();
  using ShiftedIds<ThreadId>::operator();
  using ShiftedIds<DeviceId>::operator();
  using ShiftedIds<ContextId>::operator();
  using ShiftedIds<StreamId>::operator();
  using ShiftedIds<ShapeId>::operator();
  using ShiftedIds<CallPathId>::operator();
  using ShiftedIds<FrameId>::operator();
  using ShiftedIds<ClockDomainId>::operator();
  using ShiftedIds<CounterTrackId>::operator();
  using ShiftedIds<LossId>::operator();
  using ShiftedIds<TopologyNodeId>::operator();
  using ShiftedIds<CommunicatorId>::operator();

  StringId operator()(StringId id) {
    const auto i = static_cast<size_t>(id);
    if (i == 0 || i >= texts_.size()) return StringId::kNone;
    if (texts_[i] == StringId::kNone) texts_[i] = to_.intern(from_.at(id));
    return texts_[i];
  }

 private:
  const StringTable& from_;
  StringTable& to_;
  std::vector<StringId> texts_;
};

/// A row of an id whose own row was lost gets the id again, so that rows that refer to it still do.
template <class Table>
void restoreIds(Table& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    table.id[i] = idAt<typename decltype(table.id)::value_type>(i);
  }
}

/// Sets the rank of all that has one, and makes sure that every row leads to it.
void assignRank(Trace& trace, RankId rank) {
  restoreIds(trace.process);
  restoreIds(trace.device);
  restoreIds(trace.clock_domain);
  restoreIds(trace.topology_node);
  restoreIds(trace.communicator);
  const auto mark = [&](auto& table) {
    for (RankId& of_row : table.rank_id) of_row = rank;
  };
  mark(trace.process);
  mark(trace.device);
  mark(trace.clock_domain);
  mark(trace.loss);
  mark(trace.topology_node);
  mark(trace.topology_link);
  mark(trace.clock_offset);
  giveProcessOf(trace, rank);
}

template <class F>
void forEachCorrelation(Trace& trace, F f) {
  forEachTable(trace, [&](auto& table) {
    if constexpr (requires { table.correlation_id; }) f(table.correlation_id);
  });
  f(trace.comm.request);
  f(trace.flow.from_correlation_id);
  f(trace.flow.to_correlation_id);
}

template <class F>
void forEachFlowNumber(Trace& trace, F f) {
  f(trace.flow.flow_id);
  f(trace.flow_event.flow_id);
}

/// The start in the host's monotonic clock is converted as the events are. Nothing is known of the
/// first host's boot time then.
void convertStartTimes(std::map<std::string, std::string>& metadata, const RankClocks& clocks,
                       size_t rank_index) {
  metadata.erase("start_boottime_ns");
  const auto start = metadata.find("start_monotonic_ns");
  if (start == metadata.end()) return;
  int64_t time = 0;
  const std::string& text = start->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
  if (error == std::errc() && end == text.data() + text.size()) {
    start->second = std::to_string(clocks.toFirst(rank_index, time).value);
  } else {
    metadata.erase(start);
  }
}

}  // namespace

void NumberMapping::start(uint64_t largest) {
  base_ = next_;
  // SQL shows numbers as signed ones. Formats that use hashes as ids have larger ones already.
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  dense_ = base_ > kMost || largest > kMost - base_;
  dense_numbers_.clear();
  if (!dense_) next_ = base_ + largest;
}

uint64_t NumberMapping::operator()(uint64_t number) {
  if (number == 0) return 0;  // none
  if (!dense_) return base_ + number;
  const auto [at, fresh] = dense_numbers_.try_emplace(number, next_ + 1);
  if (fresh) ++next_;
  return at->second;
}

Result<RankMerge> RankMerge::create(const std::string& path, std::optional<RankClocks> clocks) {
  TS_TRY(TraceWriter writer, TraceWriter::create(path, {.two_threads = true}));
  return RankMerge(std::move(writer), std::move(clocks));
}

Status RankMerge::mapRows(Trace& trace) {
  MergedIds ids(trace.strings, strings_);
  uint64_t most = 0;
  const auto follow = [&](auto& shifted, const auto& table) {
    shifted.before = rows_[std::decay_t<decltype(table)>::kId];
    shifted.count = table.size();
    most = std::max(most, shifted.before + shifted.count);
  };
  follow(static_cast<ShiftedIds<ProcessId>&>(ids), trace.process);
  follow(static_cast<ShiftedIds<ThreadId>&>(ids), trace.thread);
  follow(static_cast<ShiftedIds<DeviceId>&>(ids), trace.device);
  follow(static_cast<ShiftedIds<ContextId>&>(ids), trace.context);
  follow(static_cast<ShiftedIds<StreamId>&>(ids), trace.stream);
  follow(static_cast<ShiftedIds<ShapeId>&>(ids), trace.launch_shape);
  follow(static_cast<ShiftedIds<CallPathId>&>(ids), trace.call_path);
  follow(static_cast<ShiftedIds<FrameId>&>(ids), trace.frame);
  follow(static_cast<ShiftedIds<ClockDomainId>&>(ids), trace.clock_domain);
  follow(static_cast<ShiftedIds<CounterTrackId>&>(ids), trace.counter_track);
  follow(static_cast<ShiftedIds<LossId>&>(ids), trace.loss);
  follow(static_cast<ShiftedIds<TopologyNodeId>&>(ids), trace.topology_node);
  follow(static_cast<ShiftedIds<CommunicatorId>&>(ids), trace.communicator);
  if (most > std::numeric_limits<uint32_t>::max()) {
    return fail(ErrorCode::kNoSpace,
                "the ranks have more ids together than a trace can hold; merge fewer ranks",
                writer_.path());
  }
  shiftAttributes(trace);
  forEachTable(trace, [&](auto& table) { mapIds(table, ids); });
  forEachTable(trace,
               [&](auto& table) { rows_[std::decay_t<decltype(table)>::kId] += table.size(); });
  return {};
}

/// Attributes of rows that the trace lacks would describe rows of the next rank.
void RankMerge::shiftAttributes(Trace& trace) {
  std::map<TableId, uint64_t> sizes;
  forEachTable(
      trace, [&](const auto& table) { sizes[std::decay_t<decltype(table)>::kId] = table.size(); });
  AttributeTable& attributes = trace.attribute;
  size_t kept = 0;
  for (size_t i = 0; i < attributes.size(); ++i) {
    AttributeRow row = attributes.row(i);
    const auto table = static_cast<TableId>(row.table);
    const auto size = sizes.find(table);
    if (size == sizes.end() || row.row_number >= size->second) {
      ++attributes_left_out_;
      continue;
    }
    row.row_number += rows_[table];
    attributes.set(kept++, row);
  }
  attributes.resize(kept);
}

void RankMerge::mapNumbers(Trace& trace) {
  uint64_t largest = 0;
  const auto find = [&](const auto& numbers) {
    for (const uint64_t number : numbers) largest = std::max(largest, number);
  };
  forEachCorrelation(trace, find);
  correlations_.start(largest);
  largest = 0;
  forEachFlowNumber(trace, find);
  flows_.start(largest);
  forEachCorrelation(trace, [&](auto& numbers) {
    for (uint64_t& number : numbers) number = correlations_(number);
  });
  forEachFlowNumber(trace, [&](auto& numbers) {
    for (uint64_t& number : numbers) number = flows_(number);
  });
}

Status RankMerge::add(Trace trace) {
  trace.pending.clear();
  trace.commit_mark.clear();
  assignRank(trace, idAt<RankId>(metadata_.size()));
  Metadata metadata;  // the last value of a key counts
  for (size_t i = 0; i < trace.metadata.size(); ++i) {
    metadata[std::string(trace.text(trace.metadata.key[i]))] = trace.text(trace.metadata.value[i]);
  }
  trace.metadata.clear();
  if (clocks_) {
    const size_t index = metadata_.size();
    if (clocks_->differs(index)) convertStartTimes(metadata, *clocks_, index);
    errors_ns_.push_back(clocks_->convertToFirst(index, trace));
  }
  metadata_.push_back(std::move(metadata));
  mapNumbers(trace);
  TS_CHECK_OK(mapRows(trace));
  trace.strings.swap(strings_);
  const Status written = writer_.write(trace);
  trace.strings.swap(strings_);
  return written;
}

Status RankMerge::finish(std::span<const Rank> ranks) {
  Trace last;
  last.strings.swap(strings_);
  for (size_t i = 0; i < ranks.size(); ++i) {
    last.rank.push({.id = idAt<RankId>(i),
                    .number = ranks[i].number,
                    .number_from = ranks[i].number_from,
                    .world_size = ranks[i].world_size,
                    .file = last.strings.intern(ranks[i].file)});
    if (i < errors_ns_.size()) {
      last.rank.clock_rank_id[i] = idAt<RankId>(0);
      last.rank.clock_error_ns[i] = static_cast<uint64_t>(errors_ns_[i]);
    }
  }
  Metadata shared = metadata_.empty() ? Metadata() : metadata_.front();
  for (const Metadata& of_rank : metadata_) {
    std::erase_if(shared, [&](const auto& pair) {
      const auto at = of_rank.find(pair.first);
      return at == of_rank.end() || at->second != pair.second;
    });
  }
  for (const auto& [key, value] : shared) last.setMetadata(key, value);
  for (size_t i = 0; i < std::min(ranks.size(), metadata_.size()); ++i) {
    for (const auto& [key, value] : metadata_[i]) {
      last.setMetadata(rankMetadataPrefix(ranks[i].number) + key, value);
    }
  }
  clocks_text_ = tracesmith::clocksText(last);
  last.setMetadata("clocks", clocks_text_);
  TS_CHECK_OK(writer_.write(last));
  return writer_.finish();
}

}  // namespace tracesmith
