// SPDX-License-Identifier: Apache-2.0
// Reports on what ranks waited for: late ranks, calls that do not fit together, hangs.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "tracesmith/analysis/communication/comm_arrivals.hpp"
#include "tracesmith/analysis/communication/comm_hangs.hpp"
#include "tracesmith/analysis/communication/message_waits.hpp"
#include "tracesmith/analysis/report/report_communication.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

std::string functionName(const CommFacts& facts, StringId function) {
  return std::string(facts.maker.trace.text(function));
}

void addArrivals(const CommFacts& facts, const CommArrivals& arrivals) {
  Maker& maker = facts.maker;
  ReportTable& table = maker.table("comm_arrivals", "When the ranks came to collectives",
                                   {{"function", "function", Q::kText},
                                    {"communicator", "communicator", Q::kText},
                                    {"collectives", "collectives", Q::kCount},
                                    {"whole", "with all ranks", Q::kCount, 1},
                                    {"spread_p50_ns", "median spread", Q::kNs},
                                    {"spread_p95_ns", "p95", Q::kNs, 2},
                                    {"spread_max_ns", "max", Q::kNs},
                                    {"compared", "clocks tell", Q::kCount, 3},
                                    {"waited_ns", "waited", Q::kNs}});
  for (const FunctionArrivals& of : arrivals.functions) {
    const bool is_known = of.spread_ns.count > 0;
    const auto time = [&](double ns) {
      return is_known ? ReportValue(wholeNs(ns)) : ReportValue();
    };
    table.rows.push_back({functionName(facts, of.function), facts.communicatorName(of.communicator),
                          count(of.collectives), count(of.whole), time(of.spread_ns.p50),
                          time(of.spread_ns.p95), time(of.spread_ns.max), count(of.compared),
                          of.waited_ns});
  }
  keepLargest(maker, table, "waited_ns");
  if (table.rows.empty()) {
    note(table,
         "the trace has no communicator with several of its ranks ('tracesmith merge' joins "
         "the traces of ranks)");
  } else if (!arrivals.are_comparable) {
    note(table, kRanksHaveOwnClocks);
  }
}

void addLateRanks(const CommFacts& facts, const CommArrivals& arrivals) {
  if (!arrivals.are_comparable || arrivals.ranks.empty()) return;
  Maker& maker = facts.maker;
  ReportTable& table =
      maker.table("comm_late_ranks", "Ranks that others waited for, those that cost most first",
                  {{"rank", "rank", Q::kText},
                   {"function", "function", Q::kText},
                   {"communicator", "communicator", Q::kText, 4},
                   {"calls", "calls", Q::kCount},
                   {"times_last", "last", Q::kCount},
                   {"last_share", "last/calls", Q::kShare, 3},
                   {"late_ns", "later by", Q::kNs},
                   {"latest_ns", "at most", Q::kNs, 2},
                   {"caused_ns", "others waited", Q::kNs},
                   {"waited_ns", "it waited", Q::kNs, 1}});
  for (const RankArrivals& rank : arrivals.ranks) {
    const CommMember& member = facts.communicators.members[rank.member];
    table.rows.push_back(
        {facts.communicators.labelOf(member), functionName(facts, rank.function),
         facts.communicatorName(member.communicator), count(rank.calls), count(rank.times_last),
         shareOf(static_cast<int64_t>(rank.times_last), static_cast<int64_t>(rank.calls)),
         rank.late_ns, rank.latest_ns, rank.caused_ns, rank.waited_ns});
  }
  keepLargest(maker, table, "caused_ns");
  note(table,
       "later by: in sum, than the rank that came before it; a rank counts as last only "
       "where the clocks tell that it was");
}

void addCollectives(const CommFacts& facts, const CollectiveSets& sets,
                    const CommArrivals& arrivals) {
  if (arrivals.collectives.empty()) return;
  Maker& maker = facts.maker;
  ReportTable& table = maker.table("comm_collectives", "Collectives with the longest waits",
                                   {{"function", "function", Q::kText},
                                    {"communicator", "communicator", Q::kText},
                                    {"sequence", "number", Q::kCount},
                                    {"ranks", "ranks", Q::kCount},
                                    {"begin_ns", "first came", Q::kTimeNs},
                                    {"spread_ns", "spread", Q::kNs},
                                    {"apart_ns", "clock bound", Q::kNs, 1},
                                    {"last_rank", "last rank", Q::kText},
                                    {"waited_ns", "waited", Q::kNs}});
  std::vector<const CollectiveArrival*> order;
  order.reserve(arrivals.collectives.size());
  for (const CollectiveArrival& each : arrivals.collectives) order.push_back(&each);
  const size_t shown = maker.longest(order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [](const CollectiveArrival* a, const CollectiveArrival* b) {
                      return std::tuple(b->waited_ns, b->spread_ns, a->set) <
                             std::tuple(a->waited_ns, a->spread_ns, b->set);
                    });
  for (size_t i = 0; i < shown; ++i) {
    const CollectiveArrival& each = *order[i];
    const CollectiveSet& set = sets.sets[each.set];
    const CollectiveCall& any = sets.calls[set.first];
    const bool has_last = each.last != CommOperation::kNone;
    const std::string last =
        has_last
            ? facts.communicators.labelOf(facts.communicators.members[sets.calls[each.last].member])
            : "not resolvable";
    table.rows.push_back({functionName(facts, any.function),
                          facts.communicatorName(any.communicator), count(any.sequence),
                          count(set.count), lengthOf(maker.beginNs(), each.first_ns),
                          each.spread_ns, count(each.apart_ns), last, each.waited_ns});
  }
  noteRest(table, order.size());
}

void addMessageWaits(const CommFacts& facts, const Messages& messages) {
  if (messages.pairs.empty()) return;
  Maker& maker = facts.maker;
  ReportTable& table = maker.table("comm_messages", "Messages with both ends in the trace",
                                   {{"from_rank", "from rank", Q::kText},
                                    {"to_rank", "to rank", Q::kText},
                                    {"messages", "messages", Q::kCount},
                                    {"bytes", "bytes", Q::kBytes},
                                    {"late_sends", "late sends", Q::kCount, 2},
                                    {"receiver_waited_ns", "receiver waited", Q::kNs},
                                    {"late_receives", "late receives", Q::kCount, 3},
                                    {"sender_waited_ns", "sender waited", Q::kNs},
                                    {"not_resolved", "not resolvable", Q::kCount, 1},
                                    {"waited_ns", "waited", Q::kNs, 4}});
  for (const MessageWaits& pair : messages.pairs) {
    table.rows.push_back({facts.rankName(pair.from), facts.rankName(pair.to), count(pair.messages),
                          count(pair.bytes), count(pair.late_sends), pair.waited_for_sender_ns,
                          count(pair.late_receives), pair.waited_for_receiver_ns,
                          count(pair.not_resolved),
                          endOf(pair.waited_for_sender_ns, pair.waited_for_receiver_ns)});
  }
  keepLargest(maker, table, "waited_ns");
}

void addMismatches(const CommFacts& facts, const CollectiveSets& sets,
                   const std::vector<CommMismatch>& all) {
  Maker& maker = facts.maker;
  ReportTable& table = maker.table("comm_mismatches", "Calls of ranks that do not fit together",
                                   {{"what", "what differs", Q::kText},
                                    {"function", "function", Q::kText},
                                    {"communicator", "communicator", Q::kText},
                                    {"sequence", "number", Q::kCount},
                                    {"count", "count", Q::kCount},
                                    {"example", "example", Q::kText}});
  for (size_t i = 0; i < maker.limit(all.size()); ++i) {
    const CommMismatch& each = all[i];
    table.rows.push_back({std::string(toString(each.kind)), functionName(facts, each.function),
                          facts.communicatorName(each.communicator), count(each.sequence),
                          count(each.count), each.example});
  }
  noteRest(table, all.size());
  if (table.rows.empty()) note(table, "none found");
  if (sets.unnumbered > 0) {
    note(table, formatCount(sets.unnumbered) +
                    " calls have no number while others of their function have one, as calls of "
                    "NCCL with symmetric memory; they are not compared");
  }
  uint64_t lost = 0;
  for (size_t i = 0; i < maker.trace.loss.size(); ++i) {
    if (maker.trace.text(maker.trace.loss.source[i]).starts_with("MPI")) {
      lost += maker.trace.loss.dropped[i];
    }
  }
  if (lost > 0 && !table.rows.empty()) {
    note(table, formatCount(lost) +
                    " calls of MPI were lost or did not return, so rows may be "
                    "missing");
  }
}

/// "0-2, 5": numbers of ranks; at most some texts.
std::string rankList(const CommFacts& facts, const std::vector<uint32_t>& ranks) {
  constexpr size_t kMostTexts = 20;
  std::vector<uint32_t> numbers;
  std::vector<std::string> texts;
  for (const uint32_t who : ranks) {
    const CommRank& rank = facts.communicators.ranks()[who];
    if (rank.number && rank.label == std::to_string(*rank.number)) {
      numbers.push_back(*rank.number);
    } else {
      texts.push_back(rank.label);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> runs;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    runs.push_back(std::to_string(numbers[i]) +
                   (last > i ? "-" + std::to_string(numbers[last]) : ""));
    i = last + 1;
  }
  runs.insert(runs.end(), texts.begin(), texts.end());
  std::string list;
  for (size_t i = 0; i < std::min(runs.size(), kMostTexts); ++i) {
    list += (i == 0 ? "" : ", ") + runs[i];
  }
  return runs.size() > kMostTexts ? list + ", ..." : list;
}

std::string endOfProcess(const Trace& trace, ProcessId id) {
  if (id == ProcessId::kNone || indexOf(id) >= trace.process.size()) return "unknown";
  const ProcessRow row = trace.process.row(indexOf(id));
  if ((row.flags & process_flags::kStillRunning) != 0) return "still running";
  if ((row.flags & process_flags::kSignalled) != 0) {
    return "ended by signal " + std::to_string(row.exit_code);
  }
  if (row.end_ns == 0) return "unknown";
  return row.exit_code < 0 ? "ended" : "exited with " + std::to_string(row.exit_code);
}

class HangTable {
 public:
  HangTable(const CommFacts& facts, const CommHangs& hangs)
      : facts_(facts), hangs_(hangs), trace_(facts.maker.trace) {
    for (const LastOperation& last : hangs.last) {
      if (last.call_path_id != CallPathId::kNone) has_stacks_ = true;
    }
    if (has_stacks_) symbols_.emplace(trace_);
    if (hangs.hangs.empty()) return;
    std::set<uint32_t> last_rows;
    for (const LastOperation& last : hangs.last) last_rows.insert(last.row);
    for (const CommOperation& operation : facts.operations) {
      if (!last_rows.contains(operation.completion)) continue;
      started_by_[operation.completion] = operation.row;
    }
  }

  void add() {
    std::vector<ReportColumn> columns = {{"collective", "collective", Q::kText},
                                         {"after", "after", Q::kText, 4},
                                         {"communicator", "communicator", Q::kText, 3},
                                         {"waiting", "ranks in it", Q::kText},
                                         {"since_ns", "since", Q::kTimeNs, 5},
                                         {"rank", "rank", Q::kText},
                                         {"state", "which", Q::kText},
                                         {"certain", "certain", Q::kText},
                                         {"last", "its last call", Q::kText},
                                         {"last_end_ns", "ended", Q::kTimeNs, 2},
                                         {"process", "process", Q::kText, 1}};
    if (has_stacks_) columns.push_back({"stack", "stack of that call", Q::kText});
    ReportTable& table = facts_.maker.table(
        "comm_hangs", "Hangs: ranks in a collective that others did not come to", columns);
    size_t all = 0;
    for (const CommHang& hang : hangs_.hangs) {
      const bool all_came = hang.missing.empty();
      for (const uint32_t who : all_came ? hang.waiting : hang.missing) {
        if (++all <= facts_.maker.limit(SIZE_MAX)) table.rows.push_back(rowOf(hang, who, all_came));
      }
      if (hang.absent > 0) {
        note(table, formatCount(hang.absent) + " ranks of " +
                        facts_.communicatorName(hang.communicator) +
                        " are not in the trace, or gave no data");
      }
    }
    noteRest(table, all);
    if (all == 0) {
      note(table, "none found");
      return;
    }
    const bool are_certain = std::all_of(hangs_.hangs.begin(), hangs_.hangs.end(),
                                         [](const CommHang& hang) { return hang.is_certain; });
    if (!are_certain) {
      note(table,
           "not certain: nothing says that the call did not end, only that the trace lacks it of "
           "the rank, whose recording may have ended earlier");
    }
    note(
        table,
        "next: of a process that runs and was started with 'tracesmith arm', 'tracesmith record "
        "--pid PID --stacks' shows what it does; what a killed recorder left, 'tracesmith recover' "
        "turns into a trace");
  }

 private:
  std::string nameOf(StringId function, uint64_t sequence) const {
    return std::string(trace_.text(function)) + " #" + std::to_string(sequence);
  }

  std::string collectiveOf(const CommHang& hang) const {
    return hang.function == StringId::kNone ? "a call that did not return"
                                            : nameOf(hang.function, hang.sequence);
  }

  /// "MPI_Barrier #3", "MPI_Wait of MPI_Iallreduce #1".
  std::string callName(uint32_t row) const {
    const CommTable& comm = trace_.comm;
    if (comm.kind[row] == CommKind::kCollective) {
      return nameOf(comm.function[row], comm.sequence[row]);
    }
    const std::string name(trace_.text(comm.function[row]));
    if (comm.kind[row] != CommKind::kCompletion) return name;
    const auto started = started_by_.find(row);
    return started == started_by_.end() ? name : name + " of " + callName(started->second);
  }

  std::vector<ReportValue> rowOf(const CommHang& hang, uint32_t who, bool all_came) const {
    const LastOperation& last = hangs_.last[who];
    const CommRank& rank = facts_.communicators.ranks()[who];
    const bool has_last = last.row != CommOperation::kNone;
    const auto time = [&](int64_t ns) { return lengthOf(facts_.maker.beginNs(), ns); };
    // Of a call that did not return the trace knows what came before it.
    uint32_t communicator = hang.communicator;
    ReportValue after;
    if (hang.after != CommOperation::kNone) {
      const CommOperation& before = facts_.operations[hang.after];
      after = nameOf(before.function, trace_.comm.sequence[before.row]);
      communicator = before.communicator;
    }
    std::vector<ReportValue> row = {collectiveOf(hang),
                                    after,
                                    facts_.communicatorName(communicator),
                                    rankList(facts_, hang.waiting),
                                    time(hang.since_ns),
                                    rank.label,
                                    std::string(all_came ? "in it" : "never came"),
                                    std::string(hang.is_certain ? "yes" : "no"),
                                    has_last ? callName(last.row) : "none",
                                    has_last ? ReportValue(time(last.end_ns)) : ReportValue(),
                                    endOfProcess(trace_, rank.process)};
    if (has_stacks_) row.emplace_back(stackOf(last));
    return row;
  }

  ReportValue stackOf(const LastOperation& last) const {
    if (last.call_path_id == CallPathId::kNone) return {};
    return callStackText(facts_.maker, trace_.call_path, *symbols_, last.call_path_id);
  }

  const CommFacts& facts_;
  const CommHangs& hangs_;
  const Trace& trace_;
  bool has_stacks_ = false;
  std::optional<FrameSymbols> symbols_;
  std::map<uint32_t, uint32_t> started_by_;  // by row of a completion: row of what it completed
};

}  // namespace

void addRankWaits(CommFacts& facts) {
  const Trace& trace = facts.maker.trace;
  const CollectiveSets sets = collectiveSets(trace, facts.operations, facts.communicators);
  const CommArrivals arrivals = commArrivals(trace, facts.operations, facts.communicators, sets);
  addArrivals(facts, arrivals);
  addLateRanks(facts, arrivals);
  addCollectives(facts, sets, arrivals);
  // Hangs first: matching messages may add ranks that are not in the trace.
  const CommHangs hangs = commHangs(trace, facts.operations, facts.communicators, sets);
  const Messages messages = matchMessages(trace, facts.operations, facts.communicators);
  addMessageWaits(facts, messages);
  std::vector<CommMismatch> mismatches =
      collectiveMismatches(trace, facts.operations, facts.communicators, sets);
  mismatches.insert(mismatches.end(), messages.mismatches.begin(), messages.mismatches.end());
  addMismatches(facts, sets, mismatches);
  HangTable(facts, hangs).add();
}

}  // namespace tracesmith::report_parts
