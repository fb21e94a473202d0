// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tracesmith/analysis/stragglers/change_points.hpp"
#include "tracesmith/analysis/stragglers/outliers.hpp"

namespace tracesmith {
namespace {

/// How much more than the typical is worth a word. Devices of one model differ by a few percent.
constexpr double kLeastExcess = 0.02, kLeastSlowness = 0.045;
/// Probability of a false alarm by one test in a job, whatever its number of ranks.
constexpr double kFalseAlarm = 1e-3;
/// Of connections: how much slower than the typical.
constexpr double kSlowTransfer = 1.25;
constexpr uint32_t kLeastSteps = 5;
/// With more than one of so many operations without a start, too much would be assumed.
constexpr uint64_t kMostWithoutStart = 10;
/// How far ranks that are alike differ: devices of one kind by about one percent. Of two ranks no
/// others show how far, so they may differ by more.
constexpr ExpectedSpread kExpected{0.005, 8}, kExpectedOfTwo{0.02, 8};

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// Values of the ranks, as shares of the typical own work, and how far steps scatter them.
struct Feature {
  std::vector<double> values;
  std::vector<double> errors;  // standard errors of the values; 0: not of single steps

  void add(double value, double error = 0) {
    values.push_back(value);
    errors.push_back(error);
  }
  /// That the other ranks' values come with.
  double errorWithout(size_t rank) const {
    double squares = 0;
    for (size_t k = 0; k < errors.size(); ++k) squares += k == rank ? 0 : errors[k] * errors[k];
    return std::sqrt(squares / static_cast<double>(std::max<size_t>(errors.size(), 2) - 1));
  }
};

/// Mean over the steps as a share of the typical own work. Its error is that of means of several
/// steps, because what disturbs a step often disturbs the next one as well.
void addMean(const std::vector<double>& of_steps, double typical, Feature& feature) {
  const size_t batches = std::clamp<size_t>(of_steps.size() / 4, 2, 10);
  const auto steps = static_cast<double>(of_steps.size());
  double sum = 0;
  for (const double x : of_steps) sum += x;
  std::vector<double> rests(batches, 0);  // of the mean, so that batches may differ by a step
  for (size_t s = 0; s < of_steps.size(); ++s) {
    rests[s * batches / of_steps.size()] += of_steps[s] - sum / steps;
  }
  double squares = 0;
  for (const double x : rests) squares += x * x;
  const auto n = static_cast<double>(batches);
  feature.add(sum / typical, std::sqrt(squares * n / (n - 1)) / typical);
}

/// What may make a rank take longer: each a test of its own.
struct Features {
  Feature slowness;  // of the same kernels
  Feature amount;    // work-items
  Feature idle;      // own work in which the device idles
  Feature own;       // own work of any kind

  explicit Features(const std::vector<RankWork>& work) {
    for (const RankWork& rank : work) {
      double typical = 0;
      std::vector<double> excess, idles;
      for (size_t s = 0; s < rank.steps.size(); ++s) {
        typical += static_cast<double>(rank.typical[s].own_ns);
        const int64_t more = rank.steps[s].own_ns - rank.typical[s].own_ns;
        const int64_t busy = rank.steps[s].busy_ns - rank.typical[s].busy_ns;
        excess.push_back(static_cast<double>(more));
        idles.push_back(rank.has_device ? static_cast<double>(more - busy) : 0);
      }
      slowness.add(rank.slowness - 1);
      amount.add(rank.amount - 1);
      addMean(idles, std::max(1.0, typical), idle);
      addMean(excess, std::max(1.0, typical), own);
    }
  }
};

struct Cause {
  StragglerKind kind{};
  double share = 0;  // of the typical own work
  double p = 1;
};

/// The cause that explains most, of those that chance does not.
std::optional<Cause> causeOf(const Features& features, const std::vector<RankWork>& work,
                             size_t rank) {
  const double least_p = kFalseAlarm / static_cast<double>(work.size());
  std::optional<Cause> best;
  const auto test = [&](StragglerKind kind, const Feature& feature, double least) {
    ExpectedSpread expected = work.size() == 2 ? kExpectedOfTwo : kExpected;
    expected.deviation = std::hypot(expected.deviation, feature.errorWithout(rank));
    const double value = feature.values[rank];
    const double p = outlierP(feature.values, rank, expected);
    if (value < least || p > least_p) return;
    if (!best || value > best->share) best = Cause{kind, value, p};
  };
  if (work[rank].has_device) {
    test(StragglerKind::kMoreWork, features.amount, kLeastExcess);
    test(StragglerKind::kSlowDevice, features.slowness, kLeastSlowness);
    test(StragglerKind::kLateHost, features.idle, kLeastExcess);
  } else {
    test(StragglerKind::kSlowHost, features.own, kLeastExcess);
  }
  return best;
}

void explain(const RankWork& work, const Cause& cause, Straggler& s) {
  s.kind = cause.kind;
  s.p = cause.p;
  switch (cause.kind) {
    case StragglerKind::kSlowHost:
      s.evidence = "no device work is in the trace: why is not known";
      break;
    case StragglerKind::kLateHost:
      s.evidence = fmt::format("its device idles {} more of its own work", percent(cause.share));
      break;
    case StragglerKind::kMoreWork:
      s.slowness = work.amount;
      s.evidence =
          fmt::format("{:.2f} times the work-items; the same kernels take {:.2f} times as long",
                      work.amount, work.slowness);
      break;
    default:
      s.slowness = work.slowness;
      s.evidence = fmt::format("{} launches of the same kernels take {:.2f} times as long",
                               work.compared_kernels, work.slowness);
  }
}

/// How the excess is spread over the steps.
void describeSteps(const RankWork& work, Straggler& s) {
  std::vector<double> excess, share;
  for (size_t i = 0; i < work.steps.size(); ++i) {
    excess.push_back(static_cast<double>(work.steps[i].own_ns - work.typical[i].own_ns));
    share.push_back(work.excessOf(i));
  }
  const auto n = static_cast<double>(excess.size());
  const double mean = std::accumulate(excess.begin(), excess.end(), 0.0) / n;
  double squares = 0;
  for (const double x : excess) squares += (x - mean) * (x - mean);
  const double error = n < 2 ? 0 : 1.96 * std::sqrt(squares / (n - 1) / n);
  s.excess_ns = static_cast<int64_t>(mean);
  s.excess_low_ns = static_cast<int64_t>(mean - error);
  s.excess_high_ns = static_cast<int64_t>(mean + error);
  s.excess_share = std::accumulate(share.begin(), share.end(), 0.0) / n;
  // The fewest steps that make up nine tenths of it.
  std::vector<double> sorted = excess;
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0;
  for (const double x : sorted) {
    if (sum >= 0.9 * mean * n || x <= 0) break;
    sum += x;
    ++s.steps;
  }
  const std::vector<size_t> points = findChangePoints(share);
  if (points.size() == 1) {
    const auto level = [&](size_t begin, size_t end) {
      return std::accumulate(share.begin() + static_cast<ptrdiff_t>(begin),
                             share.begin() + static_cast<ptrdiff_t>(end), 0.0) /
             static_cast<double>(end - begin);
    };
    const double before = level(0, points[0]), after = level(points[0], share.size());
    if (after > 3 * std::max(0.0, before)) s.since = static_cast<uint32_t>(points[0]);
  }
}

void addRanks(StragglerReport& report) {
  const std::vector<int64_t> transfers = transferTimes(report.timeline);
  const Features features(report.work);
  for (uint32_t rank = 0; rank < report.work.size(); ++rank) {
    const RankWork& work = report.work[rank];
    const std::optional<Cause> cause = causeOf(features, report.work, rank);
    if (!cause) continue;
    const JobReplay typical = replayJob(
        report.timeline, ownTimesIfTypical(report.timeline, report.steps, rank), transfers);
    Straggler s;
    s.ranks = {rank};
    s.gain_ns = report.length_ns - typical.length_ns;
    s.gain_share = static_cast<double>(s.gain_ns) / static_cast<double>(report.length_ns);
    explain(work, *cause, s);
    describeSteps(work, s);
    if (s.steps * 2 < report.steps.count) {
      s.evidence += fmt::format("; most in {} of {} steps", s.steps, report.steps.count);
    }
    report.stragglers.push_back(std::move(s));
  }
}

void addLinks(StragglerReport& report) {
  const SlowLink slow = findSlowLink(report.links, report.timeline.ranks.size(), kSlowTransfer);
  if (slow.groups.empty()) return;
  std::vector<int64_t> transfers = transferTimes(report.timeline);
  std::vector<bool> is_slow(report.links.groups.size(), false);
  for (const uint32_t g : slow.groups) is_slow[g] = true;
  uint64_t count = 0;
  for (size_t n = 0; n < transfers.size(); ++n) {
    const uint32_t group = report.links.group_of[n];
    const auto& ranks = report.links.groups[group].ranks;
    const bool has_one =
        std::any_of(slow.candidates.begin(), slow.candidates.end(),
                    [&](uint32_t r) { return std::binary_search(ranks.begin(), ranks.end(), r); });
    if (!is_slow[group] || !has_one) continue;
    transfers[n] = report.links.if_typical_ns[n];
    ++count;
  }
  const JobReplay typical = replayJob(report.timeline, ownTimes(report.timeline), transfers);
  Straggler s;
  s.kind = StragglerKind::kSlowLink;
  s.ranks = slow.candidates;
  s.gain_ns = report.length_ns - typical.length_ns;
  s.gain_share = static_cast<double>(s.gain_ns) / static_cast<double>(report.length_ns);
  s.slowness = slow.slowness;
  s.evidence = fmt::format("{} transfers take {:.2f} times as long as others' once all have come",
                           count, slow.slowness);
  report.stragglers.push_back(std::move(s));
}

}  // namespace

const char* toString(StragglerKind kind) {
  switch (kind) {
    case StragglerKind::kSlowDevice:
      return "slow device";
    case StragglerKind::kMoreWork:
      return "more work";
    case StragglerKind::kLateHost:
      return "late host";
    case StragglerKind::kSlowHost:
      return "slow rank";
    case StragglerKind::kSlowLink:
      return "slow connection";
  }
  return "unknown";
}

StragglerReport findStragglers(const Trace& trace) {
  return findStragglers(trace, DeviceOps::of(trace));
}

StragglerReport findStragglers(const Trace& trace, const DeviceOps& ops) {
  StragglerReport report;
  JobCommunicators communicators(trace);
  const std::vector<CommOperation> operations = commOperations(trace, communicators, ops);
  report.timeline = jobTimeline(trace, operations, communicators, ops);
  const uint64_t without_start = report.timeline.without_start;
  if (without_start * kMostWithoutStart > report.timeline.parts.size()) {
    report.problem = fmt::format("of {} of {} operations the trace does not say when they started",
                                 without_start, report.timeline.parts.size());
    return report;
  }
  if (report.timeline.ranks.size() < 2) {
    report.problem = "the trace has no collectives or messages between ranks that are in it";
    return report;
  }
  report.steps = jobSteps(report.timeline);
  if (report.steps.count < kLeastSteps) {
    report.problem = fmt::format("what the ranks communicate repeats {} times; {} are needed",
                                 report.steps.count, kLeastSteps);
    return report;
  }
  const std::vector<int64_t> own = ownTimes(report.timeline);
  const std::vector<int64_t> transfers = transferTimes(report.timeline);
  const JobReplay replay = replayJob(report.timeline, own, transfers);
  report.length_ns = std::max<int64_t>(1, replay.length_ns);
  report.critical_ns.assign(report.timeline.ranks.size(), 0);
  for (const CriticalPiece& piece : criticalPieces(report.timeline, replay, own, transfers)) {
    report.own_ns += piece.own_ns;
    report.transfer_ns += piece.transfer_ns;
    report.critical_ns[report.timeline.parts[piece.part].rank] += piece.own_ns;
  }
  report.work = rankWork(trace, report.timeline, report.steps, communicators, ops);
  report.links = linkTimes(report.timeline);
  addRanks(report);
  addLinks(report);
  std::stable_sort(report.stragglers.begin(), report.stragglers.end(),
                   [](const Straggler& a, const Straggler& b) { return a.gain_ns > b.gain_ns; });
  return report;
}

}  // namespace tracesmith
