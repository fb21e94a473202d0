// SPDX-License-Identifier: Apache-2.0
// Reports on communication: what was sent, how fast, and how much of it was hidden.
// report_comm_ranks.cpp has what ranks waited for, report_comm_kernels.cpp the kernels.
#include "tracesmith/analysis/report/report_communication.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/analysis/communication/comm_exposure.hpp"
#include "tracesmith/analysis/communication/comm_limits.hpp"
#include "tracesmith/analysis/communication/comm_traffic.hpp"
#include "tracesmith/analysis/communication/comm_volumes.hpp"
#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/human_units.hpp"

namespace tracesmith::report_parts {
namespace {

using Q = Quantity;

ReportValue rateOf(const std::optional<double>& bytes_per_s) {
  return bytes_per_s && *bytes_per_s > 0 ? ReportValue(*bytes_per_s) : std::monostate{};
}

void addVolumes(const CommFacts& facts) {
  Maker& maker = facts.maker;
  ReportTable& table = maker.table(
      "comm_operations",
      "Operations of communication libraries by size (from a power of two to less than the next)",
      {{"function", "function", Q::kText},
       {"communicator", "communicator", Q::kText},
       {"from_bytes", "from", Q::kBytes},
       {"calls", "calls", Q::kCount},
       {"bytes", "bytes", Q::kBytes, 3},
       {"total_ns", "total", Q::kNs, 2},
       {"p50_ns", "median", Q::kNs},
       {"p95_ns", "p95", Q::kNs, 4},
       {"max_ns", "max", Q::kNs, 5},
       {"algbw_bytes_per_s", "algbw", Q::kBytesPerSecond},
       {"busbw_bytes_per_s", "busbw", Q::kBytesPerSecond},
       {"best_busbw_bytes_per_s", "best busbw", Q::kBytesPerSecond, 6},
       {"limit_bytes_per_s", "limit", Q::kBytesPerSecond, 7},
       {"of_limit", "of limit", Q::kShare, 8}});
  const CommLimits limits(maker.trace, facts.operations, facts.communicators);
  uint64_t untimed = 0;
  for (const CommVolume& volume : commVolumes(facts.operations, facts.communicators)) {
    untimed += volume.calls - volume.timed;
    const std::optional<double> limit =
        volume.from_bytes > 0 ? limits.of(volume.communicator, volume.op) : std::nullopt;
    ReportValue share;
    if (limit && *limit > 0 && volume.best_busbw) share = *volume.best_busbw / *limit;
    const auto time = [&](double ns) {
      return volume.timed == 0 ? ReportValue() : ReportValue(wholeNs(ns));
    };
    table.rows.push_back({std::string(maker.trace.text(volume.function)),
                          facts.communicatorName(volume.communicator),
                          volume.from_bytes == 0 ? ReportValue() : count(volume.from_bytes),
                          count(volume.calls), count(volume.bytes), wholeNs(volume.time_ns.sum),
                          time(volume.time_ns.p50), time(volume.time_ns.p95),
                          time(volume.time_ns.max), rateOf(volume.algbw), rateOf(volume.busbw),
                          rateOf(volume.best_busbw), rateOf(limit), share});
  }
  keepLargest(maker, table, "total_ns");
  note(table,
       "times are of each rank, with its waiting for others; bytes are the larger of what it "
       "sends and receives (docs/analysis.md)");
  if (untimed > 0) {
    note(table, formatCount(untimed) +
                    " operations have no times of their own: their calls only "
                    "enqueued them, or they share a kernel with others");
  }
}

void addTotals(const CommFacts& facts) {
  Maker& maker = facts.maker;
  ReportTable& table = maker.table("comm_communicators", "Communicators",
                                   {{"communicator", "communicator", Q::kText},
                                    {"library", "library", Q::kText, 5},
                                    {"ranks", "ranks", Q::kCount},
                                    {"in_trace", "in the trace", Q::kCount},
                                    {"collectives", "collective calls", Q::kCount},
                                    {"collective_sent_bytes", "sent in them", Q::kBytes, 3},
                                    {"collective_received_bytes", "received in them", Q::kBytes, 4},
                                    {"sends", "sends", Q::kCount},
                                    {"sent_bytes", "sent", Q::kBytes},
                                    {"receives", "receives", Q::kCount, 1},
                                    {"received_bytes", "received", Q::kBytes, 2}});
  const std::vector<CommTotals> all = commTotals(maker.trace, facts.operations);
  for (size_t i = 0; i < maker.limit(all.size()); ++i) {
    const CommTotals& totals = all[i];
    const bool is_known = totals.communicator != CommOperation::kNone;
    const JobCommunicator none;
    const JobCommunicator& of = is_known ? facts.communicators.all[totals.communicator] : none;
    table.rows.push_back(
        {facts.communicatorName(totals.communicator), std::string(maker.trace.text(of.library)),
         is_known ? count(of.ranks) : ReportValue(), is_known ? count(of.members) : ReportValue(),
         count(totals.collectives), count(totals.collective_sent_bytes),
         count(totals.collective_received_bytes), count(totals.sends), count(totals.sent_bytes),
         count(totals.receives), count(totals.received_bytes)});
  }
  noteRest(table, all.size());
  if (const std::string& numbers = facts.communicators.numbersNote(); !numbers.empty()) {
    note(table, numbers);
  }
}

/// The ranks that occur in pairs, by number.
std::vector<uint32_t> ranksOf(const CommFacts& facts, const std::vector<PairTraffic>& pairs) {
  std::vector<uint32_t> ranks;
  for (const PairTraffic& pair : pairs) {
    ranks.push_back(pair.from);
    ranks.push_back(pair.to);
  }
  const auto& all = facts.communicators.ranks();
  std::sort(ranks.begin(), ranks.end(), [&](uint32_t a, uint32_t b) {
    const auto place = [&](uint32_t i) {
      return std::tuple(!all[i].number, all[i].number.value_or(0), i);
    };
    return place(a) < place(b);
  });
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// For few ranks; adds nothing for more.
void addMatrix(const CommFacts& facts, const std::vector<PairTraffic>& pairs) {
  constexpr size_t kMostRanks = 16;
  const std::vector<uint32_t> ranks = ranksOf(facts, pairs);
  if (ranks.empty() || ranks.size() > kMostRanks) return;
  std::vector<ReportColumn> columns = {{"from_rank", "from rank", Q::kText}};
  std::map<uint32_t, size_t> place;
  for (const uint32_t rank : ranks) {
    place[rank] = columns.size();
    columns.push_back({"to_" + facts.rankName(rank), "to " + facts.rankName(rank), Q::kBytes});
  }
  ReportTable& table = facts.maker.table("comm_matrix", "Bytes from rank to rank", columns);
  for (const uint32_t rank : ranks) {
    table.rows.emplace_back(columns.size());
    table.rows.back()[0] = facts.rankName(rank);
  }
  for (const PairTraffic& pair : pairs) {
    table.rows[place[pair.from] - 1][place[pair.to]] = count(pair.bytes());
  }
}

void addTraffic(CommFacts& facts) {
  Maker& maker = facts.maker;
  const CommTraffic traffic = commTraffic(maker.trace, facts.operations, facts.communicators);
  addMatrix(facts, traffic.pairs);
  ReportTable& table = maker.table("comm_pairs", "Bytes from rank to rank, the most first",
                                   {{"from_rank", "from rank", Q::kText},
                                    {"to_rank", "to rank", Q::kText},
                                    {"messages", "messages", Q::kCount},
                                    {"message_bytes", "in messages", Q::kBytes},
                                    {"collective_bytes", "in collectives", Q::kBytes},
                                    {"bytes", "bytes", Q::kBytes}});
  for (const PairTraffic& pair : traffic.pairs) {
    table.rows.push_back({facts.rankName(pair.from), facts.rankName(pair.to), count(pair.messages),
                          count(pair.message_bytes), count(pair.collective_bytes),
                          count(pair.bytes())});
  }
  keepLargest(maker, table, "bytes");
  if (table.rows.empty()) note(table, "no messages");
  if (traffic.left_out_collectives > 0) {
    note(table, formatCount(traffic.left_out_collectives) +
                    " calls of collectives are not in it: who sends what to whom depends on the "
                    "algorithm");
  }
  if (traffic.too_many_pairs > 0) {
    note(table, formatCount(traffic.too_many_pairs) +
                    " calls of all_to_all are not in it: their communicators have too many ranks");
  }
  if (traffic.of_unknown_senders > 0) {
    note(table, formatCount(traffic.of_unknown_senders) +
                    " receives from any rank are not in it, because they did not complete");
  }
}

void addExposure(const CommFacts& facts) {
  Maker& maker = facts.maker;
  ReportTable& table = maker.table("comm_exposed", "Communication that nothing hides, by function",
                                   {{"function", "function", Q::kText},
                                    {"communicator", "communicator", Q::kText},
                                    {"where", "where", Q::kText},
                                    {"time_ns", "time", Q::kNs},
                                    {"exposed_ns", "exposed", Q::kNs},
                                    {"hidden_ns", "hidden", Q::kNs},
                                    {"exposed_share", "exposed/time", Q::kShare}});
  const CommExposures all = commExposures(maker.trace, facts.operations, maker.ops);
  bool in_threads = false;
  for (const CommExposure& row : all.rows) {
    in_threads = in_threads || !row.on_device;
    table.rows.push_back({std::string(maker.trace.text(row.function)),
                          facts.communicatorName(row.communicator),
                          std::string(row.on_device ? "device" : "thread"), row.time_ns,
                          row.exposed_ns, row.hidden_ns(), shareOf(row.exposed_ns, row.time_ns)});
  }
  keepLargest(maker, table, "exposed_ns");
  if (in_threads) {
    note(table,
         "in a thread all time in calls is exposed; hidden is the time of a request between "
         "the call that started it and the one that completed it");
  }
  if (all.untimed > 0) {
    note(table, formatCount(all.untimed) +
                    " operations are not in it: their times on a device are unknown");
  }
  if (all.without_compute > 0) {
    note(table, formatCount(all.without_compute) +
                    " operations are not in it: the trace has no compute on their devices");
  }
}

}  // namespace

std::string CommFacts::communicatorName(uint32_t communicator) const {
  return communicator == CommOperation::kNone ? "unknown" : communicators.all[communicator].label;
}

std::string CommFacts::rankName(uint32_t who) const { return communicators.ranks()[who].label; }

void addCommunication(Maker& maker) {
  addCollectiveKernels(maker);
  if (maker.trace.comm.empty()) {
    addKernelArrivals(maker);
    return;
  }
  CommFacts facts(maker);
  addVolumes(facts);
  if (isCancelled()) return;
  addTotals(facts);
  addTraffic(facts);
  addExposure(facts);
  if (isCancelled()) return;
  addRankWaits(facts);
}

}  // namespace tracesmith::report_parts
