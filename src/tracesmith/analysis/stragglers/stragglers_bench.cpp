// SPDX-License-Identifier: Apache-2.0
// How often the analysis names the right rank and kind first, in generated jobs with one fault, and
// how often it names any in jobs without (`script/bench stragglers_bench`).
//
//   stragglers_bench [JOBS] [FIRST_SEED]
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tracesmith/analysis/stragglers/generated_job_test_util.hpp"
#include "tracesmith/analysis/stragglers/stragglers.hpp"

namespace tracesmith {
namespace {

using test::JobFault;
using test::JobPlan;

struct Subject {
  const char* name;
  JobFault fault;
  double least, most;  // amount
  StragglerKind kind;
};
constexpr Subject kSubjects[] = {
    {"clean", JobFault::kNone, 0, 0, StragglerKind::kSlowDevice},
    {"GPU 5 to 30 % slower", JobFault::kSlowGpu, 0.05, 0.3, StragglerKind::kSlowDevice},
    {"adapter at half rate", JobFault::kSlowNic, 0.5, 0.5, StragglerKind::kSlowLink},
    {"pauses of the host", JobFault::kPauses, 0.3, 2, StragglerKind::kLateHost},
    {"10 to 30 % more work", JobFault::kImbalance, 0.1, 0.3, StragglerKind::kMoreWork}};

/// 8 to 512 ranks.
JobPlan planOf(uint64_t seed, const Subject& subject) {
  std::mt19937_64 random(seed * 7919 + static_cast<uint64_t>(subject.fault));
  constexpr uint32_t kShapes[][3] = {{8, 1, 1}, {4, 2, 1},  {4, 2, 2},  {2, 2, 4},
                                     {8, 4, 1}, {4, 4, 2},  {8, 2, 4},  {16, 4, 1},
                                     {8, 8, 2}, {16, 4, 4}, {32, 4, 2}, {16, 8, 4}};
  // Mostly small ones: a large one takes as long as fifty.
  const double at = std::pow(std::uniform_real_distribution<>(0, 1)(random), 1.5);
  size_t shape = static_cast<size_t>(at * static_cast<double>(std::size(kShapes)));
  // A slow adapter is told by two groups that have nothing else in common.
  while (subject.fault == JobFault::kSlowNic && kShapes[shape][2] == 1) {
    shape = random() % std::size(kShapes);
  }
  JobPlan plan{
      .data = kShapes[shape][0], .tensor = kShapes[shape][1], .pipeline = kShapes[shape][2]};
  plan.ranks_per_host = plan.ranks() <= 16 ? 4 : 8;
  plan.steps = 20 + static_cast<uint32_t>(random() % 20);
  plan.fault = subject.fault;
  plan.faulty = static_cast<uint32_t>(random() % plan.ranks());
  plan.amount = std::uniform_real_distribution<>(subject.least, subject.most)(random);
  plan.seed = seed;
  return plan;
}

/// The interval of a share that 95 of 100 such counts come from (Wilson 1927).
std::pair<double, double> wilson(uint64_t hits, uint64_t n) {
  const double z = 1.96, p = static_cast<double>(hits) / static_cast<double>(n),
               m = static_cast<double>(n);
  const double middle = (p + z * z / (2 * m)) / (1 + z * z / m);
  const double half = z * std::sqrt(p * (1 - p) / m + z * z / (4 * m * m)) / (1 + z * z / m);
  return {middle - half, middle + half};
}

}  // namespace
}  // namespace tracesmith

int main(int argc, char** argv) {
  using namespace tracesmith;  // NOLINT: a program
  const uint64_t jobs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const uint64_t first_seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  const bool verbose = std::getenv("VERBOSE") != nullptr;
  bool missed = false;
  for (const Subject& subject : kSubjects) {
    uint64_t right = 0, alarms = 0, ranks = 0, kinds = 0;
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < jobs; ++i) {
      const JobPlan plan = planOf(first_seed + i, subject);
      const test::GeneratedJob job(plan);
      const StragglerReport report = findStragglers(job.trace);
      ranks += plan.ranks();
      const bool any = !report.stragglers.empty();
      alarms += any ? 1 : 0;
      const bool rank_right = any && report.stragglers[0].ranks == std::vector{plan.faulty};
      right += rank_right ? 1 : 0;
      kinds += rank_right && report.stragglers[0].kind == subject.kind ? 1 : 0;
      const bool is_clean = subject.fault == JobFault::kNone;
      if (verbose && (is_clean ? any : !rank_right || report.stragglers[0].kind != subject.kind)) {
        fmt::print(
            "  seed {} {}x{}x{} rank {} amount {:.2f}: {}\n", plan.seed, plan.data, plan.tensor,
            plan.pipeline, plan.faulty, plan.amount,
            any ? fmt::format("{} {} gain {:.3f} p {:.1e} {} ({} named)",
                              report.stragglers[0].ranks[0], toString(report.stragglers[0].kind),
                              report.stragglers[0].gain_share, report.stragglers[0].p,
                              report.stragglers[0].evidence, report.stragglers[0].ranks.size())
                : "nothing " + report.problem);
      }
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (subject.fault == JobFault::kNone) {
      fmt::print("{:22} {:4} jobs of {:3} ranks: {} alarms  ({:.1f} s)\n", subject.name, jobs,
                 ranks / jobs, alarms, seconds);
      missed = missed || alarms > 0;
      continue;
    }
    const auto [low, high] = wilson(right, jobs);
    fmt::print(
        "{:22} {:4} jobs of {:3} ranks: rank right in {:.1f} % ({:.1f} to {:.1f}), and the kind in "
        "{:.1f} %  ({:.1f} s)\n",
        subject.name, jobs, ranks / jobs,
        100.0 * static_cast<double>(right) / static_cast<double>(jobs), 100 * low, 100 * high,
        100.0 * static_cast<double>(kinds) / static_cast<double>(jobs), seconds);
    missed = missed || static_cast<double>(right) < 0.95 * static_cast<double>(jobs);
  }
  return missed ? 1 : 0;
}
