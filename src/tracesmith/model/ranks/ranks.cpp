// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/ranks/ranks.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/model/id_mapping.hpp"
#include "tracesmith/model/ranks/rank_clocks.hpp"
#include "tracesmith/model/ranks/rank_times.hpp"
#include "tracesmith/model/track_groups.hpp"

namespace tracesmith {
namespace {

/// New ids of the rows that one rank has; 0 for the others.
template <class Id>
struct NewIds {
  std::vector<uint32_t> ids;
  Id operator()(Id id) const {
    const auto i = static_cast<size_t>(id);
    return i == 0 || i > ids.size() ? Id{} : static_cast<Id>(ids[i - 1]);
  }
};
struct RankIds : NewIds<ProcessId>,
                 NewIds<ThreadId>,
                 NewIds<DeviceId>,
                 NewIds<ContextId>,
                 NewIds<StreamId>,
                 NewIds<ClockDomainId>,
                 NewIds<CounterTrackId>,
                 NewIds<LossId>,
                 NewIds<TopologyNodeId>,
                 NewIds<CommunicatorId>,
                 NewIds<RankId> {
  using NewIds<ProcessId>::operator();
  using NewIds<ThreadId>::operator();
  using NewIds<DeviceId>::operator();
  using NewIds<ContextId>::operator();
  using NewIds<StreamId>::operator();
  using NewIds<ClockDomainId>::operator();
  using NewIds<CounterTrackId>::operator();
  using NewIds<LossId>::operator();
  using NewIds<TopologyNodeId>::operator();
  using NewIds<CommunicatorId>::operator();
  using NewIds<RankId>::operator();  // all 0 for a part without ranks
};

/// Tables that all ranks of the part share: their rows belong to no rank.
template <class Table>
constexpr bool kIsShared =
    std::is_same_v<Table, LaunchShapeTable> || std::is_same_v<Table, CallPathTable> ||
    std::is_same_v<Table, FrameTable> || std::is_same_v<Table, SymbolTable>;

template <class Table>
void keepColumns(const Table& from, const std::vector<size_t>& rows, Table& to) {
  to.resize(rows.size());
  Table::visitColumns(from, [&](const ColumnInfo& info, const auto& source) {
    Table::visitColumns(to, [&](const ColumnInfo& other, auto& target) {
      if constexpr (std::is_same_v<std::decay_t<decltype(source)>,
                                   std::decay_t<decltype(target)>>) {
        if (info.number != other.number) return;
        for (size_t i = 0; i < rows.size(); ++i) {
          const auto value = source[rows[i]];
          if (value != decltype(value){}) target[i] = value;  // an unused column takes no memory
        }
      }
    });
  });
}

template <class Id, class Table>
void number(const Table& table, const std::vector<size_t>& rows, RankIds& ids) {
  std::vector<uint32_t>& out = static_cast<NewIds<Id>&>(ids).ids;
  out.assign(table.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) out[rows[i]] = static_cast<uint32_t>(i + 1);
}

/// 3 of "rank.3.hostname"; nullopt for a key of no rank.
std::optional<uint32_t> rankOfKey(std::string_view key) {
  constexpr std::string_view kPrefix = "rank.";
  if (!key.starts_with(kPrefix)) return std::nullopt;
  uint32_t number = 0;
  const char* const end = key.data() + key.size();
  const auto read = std::from_chars(key.data() + kPrefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != '.') return std::nullopt;
  return number;
}

void keepMetadata(const Trace& trace, const std::string& prefix, Trace& part) {
  for (size_t i = 0; i < trace.metadata.size(); ++i) {
    const std::string_view key = trace.text(trace.metadata.key[i]);
    if (!key.starts_with(prefix)) continue;
    part.setMetadata(key.substr(prefix.size()), trace.text(trace.metadata.value[i]));
  }
}

void keepAttributes(const Trace& trace, const std::map<uint32_t, std::vector<size_t>>& kept,
                    Trace& part) {
  const AttributeTable& all = trace.attribute;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto rows = kept.find(all.table[i]);
    if (rows == kept.end()) continue;
    const auto at = std::lower_bound(rows->second.begin(), rows->second.end(), all.row_number[i]);
    if (at == rows->second.end() || *at != all.row_number[i]) continue;
    AttributeRow row = all.row(i);
    row.row_number = static_cast<uint64_t>(at - rows->second.begin());
    part.attribute.push(row);
  }
}

/// a + b, limited to the range of int64_t.
int64_t sumOf(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

std::string numbersText(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += i + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(numbers[i]);
  }
  return text;
}

/// Which clock all times of a merged trace are of, if not the first rank's.
constexpr const char* kClockOfTimes = "clock_id_of_times";

std::string_view clockOfRank(const Trace& trace, uint32_t number) {
  return trace.metadataValue(rankMetadataPrefix(number) + "clock_id");
}

/// Of a trace whose ranks have one clock.
std::string_view clockOfTimes(const Trace& trace) {
  const std::string_view kept = trace.metadataValue(kClockOfTimes);
  return kept.empty() ? clockOfRank(trace, trace.rank.number.front()) : kept;
}

/// Where the rank of a row is in the table of ranks.
auto indexOfRank(const Trace& trace, const RankLookup& ranks) {
  return [&trace, &ranks](const auto& table, size_t row) -> std::optional<size_t> {
    const auto rank = static_cast<size_t>(ranks.of(table, row));
    return rank == 0 || rank > trace.rank.size() ? std::nullopt : std::optional(rank - 1);
  };
}

}  // namespace

const char* const kRanksHaveOwnClocks =
    "each rank has its own clock: durations can be compared, starts and ends cannot";

std::string rankMetadataPrefix(uint32_t number) { return "rank." + std::to_string(number) + "."; }

RankId rankByNumber(const Trace& trace, uint32_t number) {
  const auto& numbers = trace.rank.number;
  const auto at = std::find(numbers.begin(), numbers.end(), number);
  return at == numbers.end() ? RankId::kNone
                             : idAt<RankId>(static_cast<size_t>(at - numbers.begin()));
}

std::string rankNumbersText(const Trace& trace) {
  return numbersText({trace.rank.number.begin(), trace.rank.number.end()});
}

Status haveOneClock(const Trace& trace) {
  const auto& clocks = trace.rank.clock_rank_id;
  const auto is_that_of_all = [&](RankId of) {
    return of != RankId::kNone && indexOf(of) < clocks.size() && of == clocks.front();
  };
  if (std::all_of(clocks.begin(), clocks.end(), is_that_of_all)) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              "the trace holds the ranks " + rankNumbersText(trace) +
                  ", each in its own clock; write one of them with 'tracesmith export -f sbt "
                  "--rank N'");
}

std::string clocksText(const Trace& trace) {
  if (!haveOneClock(trace)) return kRanksHaveOwnClocks;
  const auto& numbers = trace.rank.number;
  const std::string_view first = clockOfRank(trace, numbers.front());
  if (std::all_of(numbers.begin(), numbers.end(),
                  [&](uint32_t n) { return clockOfRank(trace, n) == first; })) {
    return "the ranks have one clock, because they ran on one host";
  }
  const auto& errors = trace.rank.clock_error_ns;
  const uint64_t worst = *std::max_element(errors.begin(), errors.end());
  const std::string whose = clockOfTimes(trace) == first ? "the first one's" : "another rank's";
  return "the clocks of the ranks were compared: times are of " + whose +
         " clock, and no further off than " +
         formatDuration(static_cast<int64_t>(std::min<uint64_t>(worst, INT64_MAX)));
}

std::vector<ClockPair> clockPairs(const Trace& trace) {
  if (!haveOneClock(trace)) return {};
  // Times of a device are as far off as its clock is from the host's, on top.
  std::vector<uint64_t> errors(trace.rank.size(), 0);
  const RankLookup ranks(trace);
  const auto rank_of = indexOfRank(trace, ranks);
  for (size_t i = 0; i < trace.clock_snapshot.size(); ++i) {
    const std::optional<size_t> rank = rank_of(trace.clock_snapshot, i);
    const int64_t error = trace.clock_snapshot.error_ns[i];
    if (rank && error > 0) errors[*rank] = std::max(errors[*rank], static_cast<uint64_t>(error));
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    if (__builtin_add_overflow(errors[i], trace.rank.clock_error_ns[i], &errors[i])) {
      errors[i] = UINT64_MAX;
    }
  }
  struct Group {
    std::vector<uint32_t> numbers;
    uint64_t error_ns = 0;
  };
  std::map<std::string_view, size_t> known;
  std::vector<Group> groups;
  for (size_t i = 0; i < trace.rank.size(); ++i) {
    const uint32_t number = trace.rank.number[i];
    const auto clock = trace.metadataValue(rankMetadataPrefix(number) + "clock_id");
    const size_t group = known.try_emplace(clock, groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    groups[group].numbers.push_back(number);
    groups[group].error_ns = std::max(groups[group].error_ns, errors[i]);
  }
  std::vector<ClockPair> pairs;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = i + 1; j < groups.size(); ++j) {
      uint64_t apart = 0;
      if (__builtin_add_overflow(groups[i].error_ns, groups[j].error_ns, &apart))
        apart = UINT64_MAX;
      pairs.push_back({numbersText(groups[i].numbers), numbersText(groups[j].numbers), apart});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.apart_ns > b.apart_ns; });
  return pairs;
}

RankLookup::RankLookup(const Trace& trace) {
  process_ = ranksOf(trace.process);
  device_ = ranksOf(trace.device);
  clock_ = ranksOf(trace.clock_domain);
  thread_ = ranksOf(trace.thread);
  context_ = ranksOf(trace.context);
  stream_ = ranksOf(trace.stream);
  track_ = ranksOf(trace.counter_track);
}

namespace {

/// The rows of some ranks, with new ids: `ids` has those of ranks already.
template <class IsKept>
Trace rowsOfRanks(const Trace& trace, IsKept&& is_kept, RankIds ids) {
  Trace part;
  part.strings = trace.strings;
  const RankLookup ranks(trace);
  std::map<uint32_t, std::vector<size_t>> kept;
  forEachTable(trace, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    std::vector<size_t>& rows = kept[static_cast<uint32_t>(Table::kId)];
    if constexpr (!kIsShared<Table>) {
      for (size_t i = 0; i < table.size(); ++i) {
        if (is_kept(ranks.of(table, i))) rows.push_back(i);
      }
    }
  });
  const auto rowsOf = [&](TableId id) -> const std::vector<size_t>& {
    return kept[static_cast<uint32_t>(id)];
  };
  number<ProcessId>(trace.process, rowsOf(TableId::kProcess), ids);
  number<ThreadId>(trace.thread, rowsOf(TableId::kThread), ids);
  number<DeviceId>(trace.device, rowsOf(TableId::kDevice), ids);
  number<ContextId>(trace.context, rowsOf(TableId::kContext), ids);
  number<StreamId>(trace.stream, rowsOf(TableId::kStream), ids);
  number<ClockDomainId>(trace.clock_domain, rowsOf(TableId::kClockDomain), ids);
  number<CounterTrackId>(trace.counter_track, rowsOf(TableId::kCounterTrack), ids);
  number<LossId>(trace.loss, rowsOf(TableId::kLoss), ids);
  number<TopologyNodeId>(trace.topology_node, rowsOf(TableId::kTopologyNode), ids);
  number<CommunicatorId>(trace.communicator, rowsOf(TableId::kCommunicator), ids);
#define TS_Y(id, Name, name, columns)                             \
  if constexpr (kIsShared<Name##Table>) {                         \
    part.name = trace.name;                                       \
  } else {                                                        \
    keepColumns(trace.name, rowsOf(TableId::k##Name), part.name); \
  }                                                               \
  mapIds(part.name, ids);
  TS_TABLES(TS_Y)
#undef TS_Y
  part.rank.clear();
  part.metadata.clear();
  keepAttributes(trace, kept, part);
  return part;
}

}  // namespace

Trace partOfRank(const Trace& trace, RankId rank) {
  const auto index = static_cast<size_t>(rank);
  if (index == 0 || index > trace.rank.size()) return {};
  Trace part = rowsOfRanks(trace, [&](RankId of_row) { return of_row == rank; }, {});
  keepMetadata(trace, rankMetadataPrefix(trace.rank.number[index - 1]), part);
  // Times that were converted to another clock are of none that others could be compared with.
  const bool is_converted = trace.rank.clock_rank_id[index - 1] != RankId::kNone &&
                            clockOfTimes(trace) != clockOfRank(trace, trace.rank.number[index - 1]);
  if (is_converted) part.setMetadata("clock_id", "");
  return part;
}

Trace partOfRanks(const Trace& trace, const std::vector<RankId>& chosen) {
  RankIds ids;
  std::vector<uint32_t>& new_ids = static_cast<NewIds<RankId>&>(ids).ids;
  new_ids.assign(trace.rank.size(), 0);
  for (size_t i = 0; i < chosen.size(); ++i)
    new_ids[indexOf(chosen[i])] = static_cast<uint32_t>(i + 1);
  const auto is_kept = [&](RankId rank) {
    return rank != RankId::kNone && indexOf(rank) < new_ids.size() && new_ids[indexOf(rank)] != 0;
  };
  Trace part = rowsOfRanks(trace, is_kept, ids);
  const bool is_one_clock = haveOneClock(trace).has_value();
  for (size_t i = 0; i < chosen.size(); ++i) {
    RankRow row = trace.rank.row(indexOf(chosen[i]));
    row.id = idAt<RankId>(i);
    row.clock_rank_id = is_one_clock ? idAt<RankId>(0) : RankId::kNone;
    part.rank.push(row);
  }
  const auto& numbers = part.rank.number;
  for (size_t i = 0; i < trace.metadata.size(); ++i) {
    const std::string_view key = trace.text(trace.metadata.key[i]);
    const std::optional<uint32_t> of = rankOfKey(key);
    if (!of || std::find(numbers.begin(), numbers.end(), *of) != numbers.end()) {
      part.setMetadata(key, trace.text(trace.metadata.value[i]));
    }
  }
  // The first rank of the whole trace, whose clock that is, may be no part of this one.
  if (is_one_clock) part.setMetadata(kClockOfTimes, clockOfTimes(trace));
  part.setMetadata("clocks", clocksText(part));
  return part;
}

void giveProcessOf(Trace& trace, RankId rank) {
  auto others = ProcessId::kNone;
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (requires { table.process_id; } && !std::is_same_v<Table, LossTable>) {
      const RankLookup ranks(trace);
      for (size_t i = 0; i < table.size(); ++i) {
        if (ranks.of(table, i) != RankId::kNone) continue;
        if (others == ProcessId::kNone) {
          others = idAt<ProcessId>(trace.process.size());
          trace.process.push({.id = others,
                              .command_line = trace.strings.intern("events of no process"),
                              .flags = process_flags::kTrackGroup,
                              .rank_id = rank});
        }
        table.process_id[i] = others;
      }
    }
  });
}

std::vector<TimeRange> rangesOfRanks(const Trace& trace) {
  std::vector<TimeRange> ranges(trace.rank.size());
  std::vector<bool> any(ranges.size(), false);
  const RankLookup ranks(trace);
  const auto rank_of = indexOfRank(trace, ranks);
  const auto add = [&](const std::optional<size_t>& rank, int64_t begin, int64_t end) {
    if (!rank) return;
    TimeRange& range = ranges[*rank];
    range = any[*rank] ? TimeRange{std::min(range.begin_ns, begin), std::max(range.end_ns, end)}
                       : TimeRange{begin, end};
    any[*rank] = true;
  };
  forEachTable(trace, [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      if constexpr (requires { table.time_ns; }) {
        add(rank_of(table, i), table.time_ns[i], table.time_ns[i]);
      } else if constexpr (requires { table.start_ns, table.duration_ns; }) {
        add(rank_of(table, i), table.start_ns[i], endOf(table.start_ns[i], table.duration_ns[i]));
      }
    }
  });
  return ranges;
}

namespace {

/// All ranks start with their first event at the same time.
void startTogether(Trace& trace, const RankLookup& ranks) {
  const std::vector<TimeRange> ranges = rangesOfRanks(trace);
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (const TimeRange& range : ranges) latest = std::max(latest, range.begin_ns);
  const auto later = [&](size_t rank, int64_t time) {
    return sumOf(time, lengthOf(ranges[rank].begin_ns, latest));
  };
  mapTimes(trace, indexOfRank(trace, ranks), later, later);
  trace.clock_snapshot.clear();
}

void convertToFirst(Trace& trace, const RankLookup& ranks, const RankClocks& clocks) {
  auto& errors = trace.rank.clock_error_ns;
  mapTimes(
      trace, indexOfRank(trace, ranks),
      [&](size_t rank, int64_t time) {
        const clocks::Bounded at = clocks.toFirst(rank, time);
        errors[rank] = std::max(errors[rank], static_cast<uint64_t>(at.error));
        return at.value;
      },
      [&](size_t rank, int64_t time) { return clocks.toFirst(rank, time).value; });
  for (RankId& of : trace.rank.clock_rank_id) of = idAt<RankId>(0);
}

void addRankToNames(Trace& trace) {
  const auto rename = [&](auto& table, Column<StringId>& names) {
    for (size_t i = 0; i < table.size(); ++i) {
      const auto rank = static_cast<size_t>(table.rank_id[i]);
      if (rank == 0 || rank > trace.rank.size()) continue;
      const std::string_view name = trace.text(names[i]);
      const std::string prefix = "rank " + std::to_string(trace.rank.number[rank - 1]);
      if (name == prefix || name.starts_with(prefix + ":")) continue;
      names[i] = trace.strings.intern(name.empty() ? prefix : prefix + ": " + std::string(name));
    }
  };
  for (size_t i = 0; i < trace.process.size(); ++i) {
    if (trace.process.command_line[i] == StringId::kNone) {
      trace.process.command_line[i] = trace.process.executable[i];
    }
  }
  rename(trace.process, trace.process.command_line);
  rename(trace.device, trace.device.name);
}

}  // namespace

std::string alignRanks(Trace& trace) {
  addRankToNames(trace);
  if (haveOneClock(trace)) return clocksText(trace);
  const RankLookup ranks(trace);
  const RankClocks clocks(trace);
  const bool are_compared = clocks.areCompared();
  if (are_compared) {
    convertToFirst(trace, ranks, clocks);
  } else {
    startTogether(trace, ranks);
  }
  trace.clock_offset.clear();
  trace.begin_ns.reset();
  if (are_compared) return clocksText(trace);
  return "each rank has its own clock, and they were not compared (profile --sync-with): the ranks "
         "are drawn from their first events on";
}

}  // namespace tracesmith
