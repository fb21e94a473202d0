// SPDX-License-Identifier: Apache-2.0
// Programs drawn at random, of which each has one defect: `tracesmith determinism` has to name the
// launch that is to blame first, and its cause; `races --confirm` has to confirm a missing wait.
// And programs without any, replayed so often: none may be called divergent, and nothing may be
// read back that is not as it was recorded.
//
// Usage: torture_determinism CASES REPLAYS [SEED [KIND]]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "random_recording.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/replay/check/race_trial.hpp"

using namespace tracesmith;        // NOLINT: a program of few functions
using namespace tracesmith::test;  // NOLINT

namespace {

struct Tally {
  unsigned cases = 0, found = 0, first_right = 0, cause_right = 0;
};

Result<DeterminismReport> checked(RandomRecording& recording, std::optional<ReplayPlan>& plan,
                                  uint64_t seed) {
  RecordingReader reader = recording.reader();
  TS_TRY(Bytes commands, reader.commands(1));
  TS_TRY(ReplayPlan made, ReplayPlan::make(std::move(commands)));
  plan.emplace(std::move(made));
  DeterminismOptions options;
  options.runs = 10;
  options.seed = seed;
  options.step_limit_s = 300;  // a busy machine compiles slowly
  return checkDeterminism(*plan, reader, options);
}

std::string shown(const ReplayPlan& plan, const Divergence& d) {
  const ReplayStep& step = plan.step(d.step);
  return "launch " + std::to_string(step.launch) + " (" + plan.kernelName(step) + "), " +
         toString(d.cause) + ": " + d.evidence;
}

/// What is said of the race of the planted launch with its partner, by executing both orders.
std::string raceVerdict(RandomRecording& recording) {
  RecordingReader reader = recording.reader();
  const auto commands = reader.commands(1);
  const auto plan = ReplayPlan::make(*commands);
  const races::RecordedProgram program = races::programOfRecording(
      *commands, [&](const recording::Payload& payload) { return reader.content(payload); });
  const races::RaceReport report = races::findRaces(program.program, races::Grade::kLikely);
  const RaceTrials trials = tryRaces(*plan, reader, program, report.groups, {});
  for (size_t i = 0; i < report.groups.size(); ++i) {
    const races::Race& race = report.groups[i].race;
    if (program.steps[race.first].launch == recording.partner() &&
        program.steps[race.second].launch == recording.planted()) {
      return std::string(races::toString(trials.verdicts[i].verdict)) + trials.verdicts[i].reason;
    }
  }
  return "not found";
}

void tryDefect(uint64_t seed, Defect defect, Tally& tally) {
  RandomRecording recording(seed, defect);
  std::optional<ReplayPlan> plan;
  const auto report = checked(recording, plan, seed);
  ++tally.cases;
  const auto wrong = [&](const std::string& what) {
    std::printf("seed %llu, %s, planted at launch %u of %u: %s\n",
                static_cast<unsigned long long>(seed), toString(defect), recording.planted(),
                recording.launches(), what.c_str());
    std::fflush(stdout);
  };
  if (!report) return wrong(report.error().toString());
  for (const std::string& note : report->notes) wrong(note);
  if (report->divergences.empty()) return wrong("nothing was found");
  ++tally.found;
  const Divergence& first = report->divergences.front();
  if (plan->step(first.step).launch != recording.planted()) {
    return wrong("the first that was named is " + shown(*plan, first));
  }
  ++tally.first_right;
  const bool partner_right =
      defect != Defect::kMissingWait ||
      (first.other != kNoStep && plan->step(first.other).launch <= recording.partner());
  if (!recording.isCause(first.cause) || !partner_right) return wrong(shown(*plan, first));
  if (defect == Defect::kMissingWait) {
    const std::string verdict = raceVerdict(recording);
    if (verdict != "confirmed") return wrong("as a race it is " + verdict);
  }
  ++tally.cause_right;
}

/// What serial and concurrent replays read back has to be what was recorded.
std::string concurrentReplays(RandomRecording& recording) {
  RecordingReader reader = recording.reader();
  const auto plan = ReplayPlan::make(*reader.commands(1));
  uint64_t shown = 0;
  for (const ReplayOrder order : {ReplayOrder::kSerial, ReplayOrder::kConcurrent}) {
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = runInChild(*plan, reader, settings);
    if (outcome.end != ChildEnd::kDone) return describeEnd(outcome);
    const RunResult& result = outcome.result;
    if (result.problem_count != 0) return result.problems.front().text;
    if (result.shown == 0 || result.shown != result.shown_equal) return "reads otherwise";
    if (order == ReplayOrder::kConcurrent && result.shown != shown) return "reads less";
    shown = result.shown;
  }
  return "";
}

/// Returns how many replays that were, 0 when something was wrong.
uint64_t tryNone(uint64_t seed) {
  RandomRecording recording(seed, Defect::kNone);
  std::optional<ReplayPlan> plan;
  const auto report = checked(recording, plan, seed);
  const auto wrong = [&](const std::string& what) {
    std::printf("seed %llu, without a defect: %s\n", static_cast<unsigned long long>(seed),
                what.c_str());
    return uint64_t{0};
  };
  if (!report) return wrong(report.error().toString());
  if (!report->divergences.empty()) {
    return wrong("false alarm: " + shown(*plan, report->divergences.front()));
  }
  if (!report->notes.empty()) return wrong(report->notes.front());
  if (report->shown == 0 || report->shown != report->shown_equal) {
    return wrong("read-backs are not as recorded");
  }
  for (int i = 0; i < 3; ++i) {
    const std::string said = concurrentReplays(recording);
    if (!said.empty()) return wrong("a serial or concurrent replay: " + said);
  }
  return report->replays;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: torture_determinism CASES REPLAYS [SEED [KIND]]\n");
    return 2;
  }
  const auto cases = std::strtoull(argv[1], nullptr, 10);
  const auto replays = std::strtoull(argv[2], nullptr, 10);
  uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::string only = argc > 4 ? argv[4] : "";
  {
    RandomRecording any(seed, Defect::kNone);
    std::optional<ReplayPlan> plan;
    RecordingReader reader = any.reader();
    ChildSettings settings;
    plan.emplace(*ReplayPlan::make(*reader.commands(1)));
    const ChildOutcome outcome = runInChild(*plan, reader, settings);
    if (outcome.end == ChildEnd::kFailed && outcome.error.code == ErrorCode::kNotFound) {
      std::printf("skipped: %s\n", outcome.error.toString().c_str());
      return 77;
    }
  }
  const int64_t began_ns = monotonicNs();
  std::map<Defect, Tally> tallies;
  for (uint64_t i = 0; i < cases; ++seed) {
    const Defect defect = kDefects[seed % std::size(kDefects)];
    if (!only.empty() && only != toString(defect)) continue;
    tryDefect(seed, defect, tallies[defect]);
    ++i;
  }
  uint64_t replayed = 0, recordings = 0, alarms = 0;
  for (; replayed < replays && alarms < 10; ++seed, ++recordings) {
    const uint64_t of_this = tryNone(seed);
    if (of_this == 0) ++alarms;
    replayed += of_this;
  }
  std::printf("%-22s %6s %6s %12s %12s\n", "planted", "cases", "found", "first right",
              "cause right");
  Tally all;
  for (const auto& [defect, t] : tallies) {
    std::printf("%-22s %6u %6u %12u %12u\n", toString(defect), t.cases, t.found, t.first_right,
                t.cause_right);
    all.cases += t.cases, all.found += t.found;
    all.first_right += t.first_right, all.cause_right += t.cause_right;
  }
  std::printf("%-22s %6u %6u %12u %12u\n", "all", all.cases, all.found, all.first_right,
              all.cause_right);
  std::printf("without a defect: %llu recordings, %llu replays, %llu false alarms; %.0f s\n",
              static_cast<unsigned long long>(recordings),
              static_cast<unsigned long long>(replayed), static_cast<unsigned long long>(alarms),
              static_cast<double>(monotonicNs() - began_ns) * 1e-9);
  return all.cause_right == all.cases && alarms == 0 ? 0 : 1;
}
