// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/check/race_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tracesmith/replay/check/replay_report.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/order_changes.hpp"

namespace tracesmith {

using namespace recording;
using races::Race;
using races::RaceDifference;
using races::RaceGroup;
using races::RaceVerdict;
using races::RecordedProgram;
using races::Verdict;

namespace {

/// Number of replays of each order before a difference is accepted.
constexpr size_t kRuns = 3;
/// Most bytes kept of the content observed in a replay; beyond that, the first differing byte is
/// known only to a MiB.
constexpr uint64_t kSeenBytes = 64u << 20;

/// Two racing commands, in recorded order.
struct Pair {
  StepIndex earlier = kNoStep;
  StepIndex later = kNoStep;
  ReversedOrder reversed;
  std::set<ObjectIndex> memory;  // whole objects that the two commands write
};

/// The same content, observed in two replays.
struct Difference {
  const Observation* one;
  const Observation* other;
};

using ObservationPoints = decltype(RunSettings::observation_points);

bool isOf(const Pair& pair, const Observation& seen) {
  return seen.step != kNoStep ||
         (seen.after == pair.reversed.settled && pair.memory.contains(seen.memory));
}

const Observation* find(const RunResult& result, const Observation& like) {
  for (const Observation& seen : result.seen) {
    if (seen.step == like.step && seen.after == like.after && seen.memory == like.memory) {
      return &seen;
    }
  }
  return nullptr;
}

class Trials {
 public:
  Trials(const ReplayPlan& plan, RecordingReader& reader, const RecordedProgram& recorded,
         const RaceTrialOptions& options)
      : plan_(plan),
        reader_(reader),
        recorded_(recorded),
        options_(options),
        dependencies_(StepDependencies::of(plan)) {}

  RaceTrials go(std::span<const RaceGroup> groups);

 private:
  Result<Pair> pairOf(const Race& race) const;
  Result<StepIndex> stepOf(races::StepId id) const;
  bool waitsForLaterEvent(StepIndex last) const;
  const ChildOutcome& recordedOrderRun(size_t i);
  ChildOutcome run(const std::vector<StepIndex>& order, ObservationPoints observation_points,
                   bool keeps_bytes);
  std::optional<RaceVerdict> whyUnusable(const Pair& pair, const ChildOutcome& outcome,
                                         const char* order) const;
  RaceVerdict tryOut(const Pair& pair);
  RaceDifference describe(const Pair& pair, const Difference& difference) const;

  const ReplayPlan& plan_;
  RecordingReader& reader_;
  const RecordedProgram& recorded_;
  const RaceTrialOptions& options_;
  const StepDependencies dependencies_;
  ObservationPoints observation_points_;      // for the recorded order, for all pairs
  std::vector<ChildOutcome> recorded_order_;  // replays of the recorded order, as many as needed
  RaceTrials out_;
};

RaceVerdict verdictOf(Verdict verdict, std::string reason) {
  RaceVerdict out;
  out.verdict = verdict;
  out.reason = std::move(reason);
  return out;
}

/// The sequence number of a command is the only key that both readings of the recording share.
Result<StepIndex> Trials::stepOf(races::StepId id) const {
  const races::RecordedStep& step = recorded_.steps[id];
  if (!races::isOfStream(recorded_.program.step(id).kind)) {
    return fail(ErrorCode::kUnsupported,
                "one of the two is an access by the program itself, which is not replayed");
  }
  const StepIndex index = plan_.bySequence(step.sequence);
  if (index == kNoStep || plan_.step(index).kind() != step.kind || !isCommand(plan_.step(index))) {
    return fail(
        ErrorCode::kDamaged,
        fmt::format("command {} is not at the position that its number gives", step.sequence));
  }
  // Replays in other orders keep freed memory, so a race with a free cannot be tried.
  if (step.kind == CommandKind::kUnsupported || step.kind == CommandKind::kSvmFree) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("command {} is of a kind that is not replayed in other orders", step.sequence));
  }
  return index;
}

/// Replays run one command after the other, so they would run a command that waits for a later user
/// event too early.
bool Trials::waitsForLaterEvent(StepIndex last) const {
  std::set<ObjectIndex> unset;
  for (StepIndex i = 0; i <= last; ++i) {
    const ReplayStep& step = plan_.step(i);
    if (step.kind() == CommandKind::kCreateUserEvent && step.object != 0) unset.insert(step.object);
    if (step.kind() == CommandKind::kSetUserEventStatus) unset.erase(step.object);
    const auto waits = plan_.waitsOf(step);
    if (std::any_of(waits.begin(), waits.end(), [&](ObjectIndex e) { return unset.contains(e); })) {
      return true;
    }
  }
  return false;
}

Result<Pair> Trials::pairOf(const Race& race) const {
  const races::RecordedAllocation& allocation = recorded_.allocations[race.allocation];
  if (allocation.kind == races::AllocationKind::kHostMemory) {
    return fail(ErrorCode::kUnsupported,
                "the memory is host memory of the program; in a replay each command has its own "
                "copy of it");
  }
  TS_TRY(const StepIndex first, stepOf(race.first));
  TS_TRY(const StepIndex second, stepOf(race.second));
  Pair pair{std::min(first, second), std::max(first, second), {}, {}};
  if (waitsForLaterEvent(pair.later)) {
    return fail(ErrorCode::kUnsupported,
                "a command before them waits for an event that the program sets later, which "
                "replays in other orders do not support");
  }
  auto reversed = reverseCommands(plan_, dependencies_, pair.earlier, pair.later);
  if (!reversed) {
    return fail(ErrorCode::kUnsupported,
                race.across_threads
                    ? "calls of different threads are replayed in the recorded order"
                    : "replays keep the two in the recorded order, possibly because of a wait that "
                      "is not needed");
  }
  pair.reversed = std::move(*reversed);
  for (const StepIndex step : {pair.earlier, pair.later}) {
    for (const MemoryUse& use : memoryUse(plan_, plan_.step(step))) {
      if (use.writes) pair.memory.insert(rootOf(plan_, use.memory));
    }
  }
  // Shared memory that a kernel accesses without an argument.
  const StepIndex made = plan_.bySequence(allocation.sequence);
  if (made != kNoStep && plan_.step(made).object != 0 &&
      plan_.object(plan_.step(made).object).object_class == ObjectClass::kMemory) {
    pair.memory.insert(rootOf(plan_, plan_.step(made).object));
  }
  return pair;
}

ChildOutcome Trials::run(const std::vector<StepIndex>& order, ObservationPoints observation_points,
                         bool keeps_bytes) {
  ChildSettings settings;
  settings.executor = options_.executor;
  settings.step_limit_s = options_.step_limit_s;
  settings.run.order = ReplayOrder::kRandom;
  settings.run.given_order = order;
  settings.run.observation_points = std::move(observation_points);
  settings.run.observed_bytes = keeps_bytes ? kSeenBytes : 0;
  const uint32_t replay = ++out_.replays;
  settings.progress = [&](const RunProgress& progress) {
    if (!options_.progress) return;
    options_.progress(replay, static_cast<double>(progress.steps_done.load()) /
                                  static_cast<double>(plan_.steps().size()));
  };
  if (options_.progress) options_.progress(replay, 0);
  ChildOutcome outcome = runInChild(plan_, reader_, settings);
  if (outcome.end == ChildEnd::kFailed) --out_.replays;
  if (outcome.end == ChildEnd::kDone) out_.device = outcome.result.device;
  return outcome;
}

const ChildOutcome& Trials::recordedOrderRun(size_t i) {
  while (recorded_order_.size() <= i) {
    recorded_order_.push_back(run(lateLegalOrder(plan_, dependencies_, {}), observation_points_,
                                  recorded_order_.empty()));
  }
  return recorded_order_[i];
}

/// No conclusion is possible unless a replay completed and executed both commands.
std::optional<RaceVerdict> Trials::whyUnusable(const Pair& pair, const ChildOutcome& outcome,
                                               const char* order) const {
  if (outcome.end == ChildEnd::kFailed) {
    return verdictOf(Verdict::kNotTried, outcome.error.toString());
  }
  if (outcome.end != ChildEnd::kDone) {
    return verdictOf(Verdict::kUndecided,
                     fmt::format("the replay {} {}, {}", order, describeEnd(outcome),
                                 stepPlace(plan_, outcome.step)));
  }
  const RunResult& result = outcome.result;
  for (const StepIndex step : {pair.earlier, pair.later}) {
    std::string why;
    const auto& left_out = result.not_executed;
    if (std::find(left_out.begin(), left_out.end(), step) != left_out.end()) {
      why = "it was skipped";
    }
    for (const StepProblem& problem : result.problems) {
      if (problem.step == step) why = problem.text;
    }
    if (!why.empty()) {
      return verdictOf(Verdict::kNotTried, fmt::format("{} cannot be executed as recorded: {}",
                                                       stepName(plan_, step), why));
    }
  }
  // There are more problems than are listed, and these two commands may be among them.
  if (result.problem_count > result.problems.size()) {
    return verdictOf(Verdict::kNotTried,
                     fmt::format("{} calls cannot be repeated as recorded", result.problem_count));
  }
  const auto observed = std::count_if(
      result.seen.begin(), result.seen.end(),
      [&](const Observation& seen) { return seen.step == kNoStep && isOf(pair, seen); });
  if (static_cast<size_t>(observed) != pair.memory.size()) {
    return verdictOf(Verdict::kUndecided, "not all memory that the two wrote can be read");
  }
  return std::nullopt;
}

RaceDifference Trials::describe(const Pair& pair, const Difference& difference) const {
  const auto& [one, other] = difference;
  RaceDifference out;
  out.is_read_back = one->step != kNoStep;
  if (out.is_read_back) {
    out.sequence = plan_.step(one->step).header.sequence;
  } else {
    bool both = false;
    for (const StepIndex step : {pair.earlier, pair.later}) {
      for (const MemoryUse& use : memoryUse(plan_, plan_.step(step))) {
        const bool writes = use.writes && rootOf(plan_, use.memory) == one->memory;
        if (!writes) continue;
        both = out.sequence && *out.sequence != plan_.step(step).header.sequence;
        out.sequence = plan_.step(step).header.sequence;
      }
    }
    if (both) out.sequence.reset();
  }
  const StepIndex made = plan_.object(rootOf(plan_, one->memory)).made_by;
  for (uint32_t a = 0; a < recorded_.allocations.size() && made != kNoStep; ++a) {
    if (recorded_.allocations[a].kind != races::AllocationKind::kHostMemory &&
        recorded_.allocations[a].sequence == plan_.step(made).header.sequence) {
      out.allocation = a;
    }
  }
  const auto chunk = std::mismatch(one->chunks.begin(), one->chunks.end(), other->chunks.begin(),
                                   other->chunks.end());
  out.first_byte = static_cast<uint64_t>(chunk.first - one->chunks.begin()) * kChunkBytes;
  out.bytes = one->bytes.size();
  out.exact = !one->bytes.empty() && one->bytes.size() == other->bytes.size();
  if (!out.exact) return out;
  out.first_byte = UINT64_MAX;
  for (uint64_t b = 0; b < one->bytes.size(); ++b) {
    if (one->bytes[b] == other->bytes[b]) continue;
    out.first_byte = std::min(out.first_byte, b);
    ++out.differing;
  }
  return out;
}

RaceVerdict Trials::tryOut(const Pair& pair) {
  // Replays of the recorded order are shared by all pairs; the others are for this pair.
  const size_t still_shared = kRuns - std::min(kRuns, recorded_order_.size());
  if (out_.replays + kRuns + still_shared > options_.most_replays) {
    return verdictOf(Verdict::kNotTried,
                     fmt::format("the limit of {} replays was reached", options_.most_replays));
  }
  constexpr const char* kAsRecorded = "in the recorded order";
  constexpr const char* kReversed = "with the two in the opposite order";
  if (const auto why = whyUnusable(pair, recordedOrderRun(0), kAsRecorded)) return *why;
  const RunResult& as_recorded = recordedOrderRun(0).result;
  ObservationPoints observation_points;
  for (const ObjectIndex memory : pair.memory)
    observation_points.emplace(pair.reversed.settled, memory);
  const ChildOutcome reversed = run(pair.reversed.order, observation_points, true);
  if (const auto why = whyUnusable(pair, reversed, kReversed)) return *why;

  RaceVerdict out;
  out.moved_along = pair.reversed.moved_along;
  out.problems = std::max(as_recorded.problem_count, reversed.result.problem_count);
  std::vector<Difference> differences;
  for (const Observation& seen : as_recorded.seen) {
    if (!isOf(pair, seen)) continue;
    const Observation* other = find(reversed.result, seen);
    if (other == nullptr) continue;
    if (seen.step != kNoStep) ++out.read_backs;
    if (seen.chunks != other->chunks) differences.push_back({&seen, other});
  }
  if (differences.empty()) {
    out.verdict = Verdict::kNoDifference;
    return out;
  }
  // Memory content directly after the two commands comes before results computed from it later.
  std::stable_partition(differences.begin(), differences.end(),
                        [](const Difference& d) { return d.one->step == kNoStep; });
  const std::string varying = stepName(
      plan_, differences.front().one->step == kNoStep ? pair.later : differences.front().one->step);
  for (size_t i = 1; i < kRuns; ++i) {
    const ChildOutcome& one = recordedOrderRun(i);
    if (const auto why = whyUnusable(pair, one, kAsRecorded)) return *why;
    const ChildOutcome other = run(pair.reversed.order, observation_points, false);
    if (const auto why = whyUnusable(pair, other, kReversed)) return *why;
    std::erase_if(differences, [&](const Difference& d) {
      const Observation* again = find(one.result, *d.one);
      const Observation* other_again = find(other.result, *d.one);
      return again == nullptr || other_again == nullptr || again->chunks != d.one->chunks ||
             other_again->chunks != d.other->chunks;
    });
  }
  if (differences.empty()) {
    return verdictOf(
        Verdict::kUndecided,
        fmt::format("results also differ between replays of the same order, first after {}",
                    varying));
  }
  out.verdict = Verdict::kConfirmed;
  out.difference = describe(pair, differences.front());
  out.read_backs_differing = static_cast<uint32_t>(
      std::count_if(differences.begin(), differences.end(),
                    [](const Difference& d) { return d.one->step != kNoStep; }));
  return out;
}

RaceTrials Trials::go(std::span<const RaceGroup> groups) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<Pair> pairs;
  std::vector<size_t> pair_of(groups.size(), kNone);
  std::map<std::pair<StepIndex, StepIndex>, size_t> known;
  out_.verdicts.resize(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    // Each pair keeps an order in memory and needs a replay.
    if (pairs.size() >= options_.most_replays) {
      out_.verdicts[i].reason =
          fmt::format("the limit of {} replays was reached", options_.most_replays);
      continue;
    }
    Result<Pair> pair = pairOf(groups[i].race);
    if (!pair) {
      out_.verdicts[i].reason = pair.error().message;
      continue;
    }
    const auto [it, is_new] = known.try_emplace({pair->earlier, pair->later}, pairs.size());
    pair_of[i] = it->second;
    if (is_new) {
      pairs.push_back(std::move(*pair));
    } else {
      pairs[it->second].memory.merge(pair->memory);
    }
  }
  for (const Pair& pair : pairs) {
    for (const ObjectIndex memory : pair.memory)
      observation_points_.emplace(pair.reversed.settled, memory);
  }
  std::vector<std::optional<RaceVerdict>> tried(pairs.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    if (pair_of[i] == kNone) continue;
    std::optional<RaceVerdict>& verdict = tried[pair_of[i]];
    if (!verdict) verdict = tryOut(pairs[pair_of[i]]);
    out_.verdicts[i] = *verdict;
  }
  return std::move(out_);
}

}  // namespace

RaceTrials tryRaces(const ReplayPlan& plan, RecordingReader& reader,
                    const RecordedProgram& recorded, std::span<const RaceGroup> groups,
                    const RaceTrialOptions& options) {
  return Trials(plan, reader, recorded, options).go(groups);
}

}  // namespace tracesmith
