// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/diff/trace_diff.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The durations of a run, by kernel name.
using Named = std::map<std::string, std::vector<double>>;
DiffRun runOf(const Named& kernels) {
  DiffRun run;
  run.totals = {{"trace", 1'000'000}};
  for (const auto& [name, durations] : kernels) {
    DiffRun::Sample& sample = run.names[{TableId::kKernel, name}];
    sample.durations = durations;
    sample.count = durations.size();
    for (const double d : durations) sample.total += d;
  }
  return run;
}
NameDiffs diffOf(const Named& a, const Named& b) {
  const DiffRun run_a = runOf(a);
  const DiffRun run_b = runOf(b);
  return diffNames({&run_a, 1}, {&run_b, 1});
}
NameDiff named(const NameDiffs& diffs, const std::string& name) {
  for (const NameDiff& d : diffs.names) {
    if (d.name == name) return d;
  }
  ADD_FAILURE() << name;
  return {};
}
bool isChange(DiffStatus status) {
  return status == DiffStatus::kSlower || status == DiffStatus::kFaster;
}

/// Durations around `typical`, with a long tail, in whole clock ticks.
std::vector<double> draw(std::mt19937& random, size_t count, double typical, double spread,
                         double clock_ns = 1) {
  std::lognormal_distribution<double> durations(std::log(typical), spread);
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back(std::floor(durations(random) / clock_ns) * clock_ns);
  }
  return out;
}

void expectAgreement(const NameDiffs& diffs) {
  for (const NameDiff& d : diffs.names) {
    if (d.runs_a == 0 || d.runs_b == 0) continue;
    const ShiftEstimate& s = d.shift;
    EXPECT_EQ(s.shift > 0, d.durations.effect > 0) << d.name;
    EXPECT_EQ(s.shift < 0, d.durations.effect < 0) << d.name;
    EXPECT_GT(d.durations.p, 0) << d.name;
    const bool survived = d.testable && d.p_adjusted <= 0.05;
    if (!s.bounded) {
      EXPECT_FALSE(survived) << d.name;
      EXPECT_FALSE(isChange(d.status)) << d.name;
      continue;
    }
    EXPECT_LE(s.low, s.shift) << d.name;
    EXPECT_GE(s.high, s.shift) << d.name;
    const bool leaves_out = s.low > 0 || s.high < 0;
    EXPECT_EQ(leaves_out, survived)
        << d.name << ' ' << s.low << ' ' << s.high << ' ' << d.p_adjusted;
    if (isChange(d.status)) {
      EXPECT_TRUE(survived) << d.name;
      EXPECT_EQ(d.status == DiffStatus::kSlower, s.low > 0) << d.name;
    }
    if (leaves_out) {
      EXPECT_NE(d.status, DiffStatus::kUnclear) << d.name;
      const double furthest = std::max(std::abs(s.low), std::abs(s.high));
      EXPECT_EQ(d.status == DiffStatus::kSame, furthest <= 0.01 * d.median_a_ns) << d.name;
    }
    if (d.status == DiffStatus::kSame) {
      EXPECT_LE(std::max(s.high, -s.low), 0.05 * d.median_a_ns) << d.name;
    }
  }
}

TEST(TraceDiff, VerdictIntervalEffectAndChanceAgree) {
  std::mt19937 random(11);
  constexpr std::array<double, 6> kChanges = {1, 1, 1.004, 1.02, 1.1, 1.5};
  constexpr std::array<double, 3> kClocks = {1, 100, 1000};
  for (int round = 0; round < 150; ++round) {
    Named a, b;
    for (int name = 0; name < 8; ++name) {
      const double clock = kClocks[random() % kClocks.size()];
      const double spread = 0.005 * static_cast<double>(1 + random() % 60);
      const double typical = 2'000 + static_cast<double>(random() % 20'000);
      const double change = kChanges[random() % kChanges.size()];
      const std::string text = std::to_string(name);
      a[text] = draw(random, 1 + random() % 60, typical, spread, clock);
      b[text] = draw(random, 1 + random() % 60, typical * change, spread, clock);
    }
    expectAgreement(diffOf(a, b));
  }
}

TEST(TraceDiff, WhereNothingDiffersFewAreCalledDifferent) {
  std::mt19937 random(5);
  constexpr int kRounds = 150;
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    Named a, b;
    for (int name = 0; name < 20; ++name) {
      const size_t count = 4 + random() % 40;
      a[std::to_string(name)] = draw(random, count, 9'000, 0.3, 50);
      b[std::to_string(name)] = draw(random, count, 9'000, 0.3, 50);
    }
    const NameDiffs diffs = diffOf(a, b);
    wrong += std::any_of(diffs.names.begin(), diffs.names.end(),
                         [](const NameDiff& d) { return isChange(d.status); });
  }
  // The rate is per table, not per name: 5 % of 150 is 7.5, and 15 is three standard deviations
  // above.
  EXPECT_LE(wrong, 15);
  EXPECT_GE(wrong, 1) << "as strict as that nothing would ever be found";
}

TEST(TraceDiff, WhatDiffersIsFoundAmongMany) {
  std::mt19937 random(6);
  int found = 0;
  int covered = 0;
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    Named a, b;
    for (int name = 0; name < 20; ++name) {
      a[std::to_string(name)] = draw(random, 30, 9'000, 0.2);
      b[std::to_string(name)] = draw(random, 30, name == 7 ? 12'060 : 9'000, 0.2);
    }
    const NameDiff d = named(diffOf(a, b), "7");
    found += d.status == DiffStatus::kSlower;
    covered += d.shift.low <= 3'060 && 3'060 <= d.shift.high;
  }
  EXPECT_GE(found, kRounds * 95 / 100) << "34 % more, at a spread of 20 %";
  EXPECT_GE(covered, kRounds * 93 / 100) << "the interval holds the true change";
}

/// Like a call that usually returns at once, and in one run waited a third longer.
TEST(TraceDiff, AThirdMoreIsNeverTheSameOrUnclearWhereItsIntervalLeavesOutNothing) {
  std::mt19937 random(9);
  Named a, b;
  a["clFinish"] = draw(random, 400, 50'000, 1.4);
  b["clFinish"] = draw(random, 400, 67'000, 1.4);
  a["kernel"] = {100, 104, 98, 101, 107};
  b["kernel"] = {132, 137, 130, 141, 129};
  a["other"] = b["other"] = draw(random, 400, 7'000, 0.1);
  const NameDiffs diffs = diffOf(a, b);
  const NameDiff finish = named(diffs, "clFinish");
  EXPECT_LT(finish.durations.effect, 0.147) << "what was called negligible before";
  EXPECT_GT(finish.shift.low, 0);
  EXPECT_EQ(finish.status, DiffStatus::kSlower);
  const NameDiff kernel = named(diffs, "kernel");
  EXPECT_NEAR(kernel.durations.p, 0.008, 0.001);
  EXPECT_NEAR(kernel.share(kernel.shift.shift), 0.32, 0.02);
  EXPECT_EQ(kernel.status, DiffStatus::kSlower);
}

TEST(TraceDiff, AFewLongOnesAreNotTheSame) {
  std::mt19937 random(13);
  Named a, b;
  a["wait"] = draw(random, 500, 10'000, 0.05);
  b["wait"] = draw(random, 500, 10'000, 0.05);
  for (int i = 0; i < 5; ++i) b["wait"][static_cast<size_t>(i)] = 400'000;
  const NameDiff d = named(diffOf(a, b), "wait");
  EXPECT_GT(d.mean_b_ns, 1.3 * d.mean_a_ns);
  EXPECT_EQ(d.status, DiffStatus::kUnclear) << "typically as long, and a third more in total";
}

TEST(TraceDiff, EqualValuesAreTheSame) {
  const NameDiffs diffs = diffOf({{"k", std::vector<double>(9, 5'000)}, {"once", {7}}},
                                 {{"k", std::vector<double>(7, 5'000)}, {"once", {7}}});
  EXPECT_EQ(named(diffs, "k").status, DiffStatus::kSame);
  EXPECT_EQ(named(diffs, "once").status, DiffStatus::kSame);
}

/// Runs of one program: each run has its own pace, shared by its kernels.
std::vector<DiffRun> runsOf(std::mt19937& random, size_t count, double change) {
  std::vector<DiffRun> out;
  std::normal_distribution<double> pace(0, 0.05);
  for (size_t i = 0; i < count; ++i) {
    const double of_run = std::exp(pace(random));
    Named kernels;
    for (int name = 0; name < 10; ++name) {
      const double typical = 9'000 * of_run * (name == 3 ? change : 1);
      kernels[std::to_string(name)] = draw(random, 60, typical, 0.02);
    }
    out.push_back(runOf(kernels));
  }
  return out;
}

TEST(TraceDiff, SeveralRunsASideTellWhatRunsDifferInAnyway) {
  std::mt19937 random(17);
  constexpr int kRounds = 60;
  int wrong_of_two = 0;
  int wrong = 0;
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<DiffRun> a = runsOf(random, 6, 1);
    const std::vector<DiffRun> same = runsOf(random, 6, 1);
    const std::vector<DiffRun> slower = runsOf(random, 6, 1.5);
    const auto anyChange = [](const NameDiffs& diffs) {
      return std::any_of(diffs.names.begin(), diffs.names.end(),
                         [](const NameDiff& d) { return isChange(d.status); });
    };
    const NameDiffs of_same = diffNames(a, same);
    expectAgreement(of_same);
    wrong += anyChange(of_same);
    if (round < 30) wrong_of_two += anyChange(diffNames({a.data(), 1}, {same.data(), 1}));
    // All kernels of a run share its pace: if one kernel differs, others may seem to differ.
    found += named(diffNames(a, slower), "3").status == DiffStatus::kSlower;
  }
  EXPECT_GE(wrong_of_two, 20) << "two runs do differ, which says nothing of the programs";
  EXPECT_LE(wrong, 8) << "5 % of 60 are 3";
  EXPECT_GE(found, kRounds * 80 / 100);
}

TEST(TraceDiff, TheReportSaysWhatItIsAbout) {
  std::mt19937 random(19);
  const auto notesOf = [](const std::vector<ReportTable>& report) {
    return report.back().title + '\n' + report.back().note;
  };
  const std::vector<DiffRun> a = runsOf(random, 3, 1);
  const std::vector<DiffRun> b = runsOf(random, 3, 2);
  const std::string two = notesOf(diffReport({a.data(), 1}, {b.data(), 1}));
  EXPECT_THAT(two, HasSubstr("in these two runs"));
  EXPECT_THAT(two, HasSubstr("apply to these two runs only"));
  const std::string few = notesOf(diffReport(a, b));
  EXPECT_THAT(few, Not(HasSubstr("these two runs")));
  EXPECT_THAT(few,
              HasSubstr("3 and 3 runs are too few to rule out chance (p is never below 0.10)"));
  const std::vector<DiffRun> more_a = runsOf(random, 5, 1);
  const std::vector<DiffRun> more_b = runsOf(random, 5, 2);
  const std::vector<ReportTable> report = diffReport(more_a, more_b);
  EXPECT_THAT(notesOf(report), Not(HasSubstr("too few")));
  for (const ReportTable& table : report) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.key;
  }
}

TEST(TraceDiff, CopiesWithoutNamesAreToldApartByDirection) {
  test::SampleTrace s;
  const ProcessId process = s.process(1, "p");
  const StreamId stream = s.stream(s.device("GPU"), process);
  for (const CopyKind kind : {CopyKind::kHostToDevice, CopyKind::kDeviceToHost}) {
    CopyTable::Row row;
    row.start_ns = 10;
    row.duration_ns = 100;
    row.process_id = process;
    row.stream_id = stream;
    row.kind = kind;
    s.trace.copy.push(row);
  }
  const DiffRun run = DiffRun::of(s.trace);
  EXPECT_EQ(run.names.size(), 2U);
}

}  // namespace
}  // namespace tracesmith
