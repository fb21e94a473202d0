// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/determinism.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "tracesmith/replay/kernel_text.hpp"
#include "tracesmith/replay/memory_use.hpp"
#include "tracesmith/replay/order_changes.hpp"
#include "tracesmith/replay/step_order.hpp"

namespace tracesmith {

using namespace recording;

namespace {

constexpr uint32_t kAdaptiveRuns = 26;  // 0.7^26 < 10^-4
constexpr uint32_t kLeastRuns = 10;
constexpr size_t kOrders = 14;          // legal ones that are tried
constexpr size_t kRandomOrders = 4;     // of those at least: for what uses memory unseen
constexpr size_t kDirectedOrders = 20;  // at most
constexpr double kMissed = 1e-4;
constexpr int kControlTwins = 3;

/// A folder that is removed with what drivers put into it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code ec;
    std::string name = (std::filesystem::temp_directory_path(ec) / "tracesmith-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using Outputs = std::map<ObjectIndex, std::vector<ContentHash>>;

/// What is known of one launch over all runs.
struct LaunchFacts {
  bool seen = false;
  uint64_t input = 0;
  Outputs first;                   // of the first run
  uint32_t runs = 0;               // from that input
  uint32_t unlike = 0;             // of those: left something else
  ObjectIndex memory = 0;          // that was left otherwise
  std::set<std::string> settings;  // in which it did
  bool unlike_recorded = false;
  bool recorded = false;
  bool permuted = false;  // was run with its work-groups in other orders
};

class Check {
 public:
  Check(const ReplayPlan& plan, RecordingReader& reader, const DeterminismOptions& options)
      : plan_(plan), reader_(reader), options_(options), facts_(plan.launches() + 1) {}
  Result<DeterminismReport> go();

 private:
  ChildOutcome run(const std::string& what, ChildSettings settings);
  ChildSettings serial(uint32_t repeats) const;
  void learn(const RunResult& result, const std::string& setting);
  void findSelfDifferent();
  std::vector<UninitialisedUse> twinDifferences(const std::string& what, bool noise);
  bool differsWithoutNoise(const UninitialisedUse& use);
  void findUninitialised();
  void findUnordered(const std::vector<RunResult>& orders, const RunResult& serial_run);
  void findUnlikeRecorded(const RunResult& serial_run);
  void describe(Divergence& divergence);
  StepIndex unorderedPartner(StepIndex launch, const std::vector<StepIndex>& order) const;
  bool usesAtomics(const ReplayStep& launch);
  void note(std::string text) { report_.notes.push_back(std::move(text)); }
  bool isDivergent(StepIndex step) const;
  void sayProgress(const std::string& what) {
    if (options_.progress) options_.progress(what, std::min(1.0, done_ / total_));
  }

  const ReplayPlan& plan_;
  RecordingReader& reader_;
  const DeterminismOptions& options_;
  DeterminismReport report_;
  std::vector<LaunchFacts> facts_;  // by launch number
  std::vector<DifferenceExample> examples_;
  std::string setting_;  // of the run that is being learned from
  double done_ = 0;
  double total_ = 1;
};

ChildSettings Check::serial(uint32_t repeats) const {
  ChildSettings settings;
  settings.executor = options_.executor;
  settings.step_limit_s = options_.step_limit_s;
  settings.run.order = ReplayOrder::kSerial;
  settings.run.hash_launches = true;
  settings.run.repeats = repeats;
  return settings;
}

ChildOutcome Check::run(const std::string& what, ChildSettings settings) {
  const double steps = std::max<double>(1, static_cast<double>(plan_.steps().size()));
  const double before = done_;
  settings.progress = [&](const RunProgress& progress) {
    done_ = before + static_cast<double>(progress.steps_done.load()) / steps;
    sayProgress(what);
  };
  sayProgress(what);
  ChildOutcome outcome = runInChild(plan_, reader_, settings);
  done_ = before + 1;
  if (outcome.end == ChildEnd::kDone) report_.replays += settings.twins ? 2 : 1;
  if (outcome.end == ChildEnd::kHung || outcome.end == ChildEnd::kDied) {
    const std::string at =
        outcome.step == kNoStep || plan_.step(outcome.step).launch == 0
            ? "before the first launch"
            : fmt::format(
                  "at launch {} ({})", plan_.step(outcome.step).launch,
                  plan_.kernelName(plan_.step(plan_.launch(plan_.step(outcome.step).launch))));
    note(fmt::format("{}: the replay {} {}; what it would have found is missing here", what,
                     describeEnd(outcome, options_.step_limit_s), at));
  }
  return outcome;
}

void Check::learn(const RunResult& result, const std::string& setting) {
  setting_ = setting;
  for (const LaunchHash& hash : result.launch_hashes) {
    LaunchFacts& facts = facts_[hash.launch];
    Outputs outputs;
    for (const auto& output : hash.outputs) outputs[output.memory] = output.chunks;
    if (!facts.seen) {
      facts.seen = true;
      facts.input = hash.input;
      facts.first = outputs;
      facts.recorded = hash.recorded;
      facts.unlike_recorded = !hash.unlike_recorded.empty();
    }
    if (hash.input != facts.input) continue;  // other inputs say nothing of this launch
    facts.runs += 1 + hash.runs_again;
    const auto differs = [&](ObjectIndex memory) {
      ++facts.unlike;
      if (facts.memory == 0) facts.memory = memory;
      facts.settings.insert(setting_);
    };
    for (const auto& [memory, chunks] : facts.first) {
      const auto now = outputs.find(memory);
      if (now != outputs.end() && now->second != chunks) {
        differs(memory);
        break;
      }
    }
    for (const auto& repeat : hash.repeats) differs(repeat.memory);
    const std::string before = setting_;
    setting_ = "other orders of its work-groups";
    for (const auto& repeat : hash.permuted) differs(repeat.memory);
    setting_ = before;
    if (hash.permuted_runs != 0) facts.permuted = true;
  }
  for (const DifferenceExample& example : result.examples) {
    const bool known =
        std::any_of(examples_.begin(), examples_.end(), [&](const DifferenceExample& e) {
          return e.launch == example.launch && e.memory == example.memory;
        });
    if (!known) examples_.push_back(example);
  }
}

bool Check::isDivergent(StepIndex step) const {
  return std::any_of(report_.divergences.begin(), report_.divergences.end(),
                     [&](const Divergence& d) { return d.step == step; });
}

bool Check::usesAtomics(const ReplayStep& launch) {
  const ObjectIndex program = launch.object == 0 ? 0 : plan_.object(launch.object).parent;
  CreateProgram made;
  if (program == 0 || !decode(plan_.step(plan_.object(program).made_by).fields, made) ||
      made.form != ProgramForm::kSource) {
    return false;
  }
  const auto source = reader_.content(made.code);
  if (!source) return false;
  const std::string text = kernelText(
      {reinterpret_cast<const char*>(source->data()), source->size()}, plan_.kernelName(launch));
  return text.find("atomic_") != std::string::npos || text.find("atom_") != std::string::npos;
}

void Check::findSelfDifferent() {
  for (uint32_t launch = 1; launch < facts_.size(); ++launch) {
    const LaunchFacts& facts = facts_[launch];
    if (facts.unlike == 0) continue;
    Divergence d;
    d.step = plan_.launch(launch);
    d.memory = facts.memory;
    const bool atomics = usesAtomics(plan_.step(d.step));
    d.cause = atomics ? DivergenceCause::kAtomicOrder : DivergenceCause::kScheduleDependent;
    std::string settings;
    for (const std::string& s : facts.settings) settings += (settings.empty() ? "" : ", ") + s;
    d.evidence =
        fmt::format("left something else {} times from equal inputs ({})", facts.unlike, settings);
    if (atomics) d.evidence += "; its source uses atomics";
    report_.divergences.push_back(std::move(d));
  }
}

std::vector<UninitialisedUse> Check::twinDifferences(const std::string& what, bool noise) {
  ChildSettings settings = serial(0);
  settings.twins = true;
  settings.twin_noise = noise;
  return run(what, settings).result.uninitialised;
}

/// Twins with equal memory are equal, but for what differs by itself; such a launch may have gone
/// unseen until chance showed it between the twins.
bool Check::differsWithoutNoise(const UninitialisedUse& use) {
  for (int i = 0; i < kControlTwins; ++i) {
    const auto differences = twinDifferences("equal memory, as a control", false);
    for (const UninitialisedUse& control : differences) {
      if (control.step > use.step || plan_.step(control.step).kind() != CommandKind::kLaunch) break;
      Divergence d;
      d.step = control.step;
      d.memory = control.memory;
      d.cause = usesAtomics(plan_.step(d.step)) ? DivergenceCause::kAtomicOrder
                                                : DivergenceCause::kScheduleDependent;
      d.evidence = "two replays beside each other, with equal memory, left something else";
      report_.divergences.push_back(std::move(d));
      return true;
    }
  }
  return false;
}

void Check::findUninitialised() {
  // A launch that differs from itself makes the twins differ from there on; and what has been
  // computed from undefined bytes is handed on by all that follow: the first is named.
  bool found = false;
  for (const UninitialisedUse& use : twinDifferences("memory that nobody wrote", true)) {
    const ReplayStep& step = plan_.step(use.step);
    const bool after_other = std::any_of(report_.divergences.begin(), report_.divergences.end(),
                                         [&](const Divergence& d) { return d.step <= use.step; });
    if (after_other || found) break;
    if (step.kind() != CommandKind::kLaunch) {
      note(fmt::format("the host reads {} bytes of {} that nobody had written (first: byte {})",
                       use.bytes, plan_.objectName(use.memory), use.first_byte));
      continue;
    }
    found = true;
    if (differsWithoutNoise(use)) break;
    Divergence d;
    d.step = use.step;
    d.cause = DivergenceCause::kUninitialisedRead;
    d.memory = use.memory;
    d.evidence = fmt::format(
        "{} bytes that it left depend on what memory held that nobody had written", use.bytes);
    report_.divergences.push_back(std::move(d));
  }
}

/// Among the commands that changed sides with `launch` between the recorded order and this one, the
/// nearest that uses the same memory, one of the two writing.
StepIndex Check::unorderedPartner(StepIndex launch, const std::vector<StepIndex>& order) const {
  std::set<ObjectIndex> roots;
  for (const MemoryUse& use : memoryUse(plan_, plan_.step(launch))) {
    roots.insert(rootOf(plan_, use.memory));
  }
  StepIndex best = kNoStep;
  bool after = false;
  const auto distance = [&](StepIndex s) { return s > launch ? s - launch : launch - s; };
  for (const StepIndex s : order) {
    if (s == launch) {
      after = true;
      continue;
    }
    if ((s > launch) == after || !isCommand(plan_.step(s))) continue;
    const std::vector<MemoryUse> uses = memoryUse(plan_, plan_.step(s));
    const bool touches = std::any_of(uses.begin(), uses.end(), [&](const MemoryUse& use) {
      return roots.contains(rootOf(plan_, use.memory));
    });
    if (touches && (best == kNoStep || distance(s) < distance(best))) best = s;
  }
  return best;
}

void Check::findUnordered(const std::vector<RunResult>& orders, const RunResult& serial_run) {
  // In the order of the recording, the first launch whose input is another in another legal order.
  std::map<uint32_t, const RunResult*> first_in;
  for (const RunResult& result : orders) {
    std::map<uint32_t, uint64_t> inputs;
    for (const LaunchHash& hash : result.launch_hashes) inputs[hash.launch] = hash.input;
    for (const LaunchHash& hash : serial_run.launch_hashes) {
      const auto now = inputs.find(hash.launch);
      if (now == inputs.end() || now->second == hash.input) continue;
      // After a launch that differs from itself other inputs are its doing.
      const bool explained =
          std::any_of(report_.divergences.begin(), report_.divergences.end(),
                      [&](const Divergence& d) { return d.step < plan_.launch(hash.launch); });
      if (!explained && unorderedPartner(plan_.launch(hash.launch), result.order) != kNoStep) {
        first_in.try_emplace(hash.launch, &result);
      }
    }
  }
  std::set<std::pair<StepIndex, StepIndex>> named;
  for (const auto& [launch, result] : first_in) {
    Divergence d;
    d.step = plan_.launch(launch);
    d.cause = DivergenceCause::kMissingSynchronisation;
    d.other = unorderedPartner(d.step, result->order);
    if (named.contains({d.other, d.step}) || isDivergent(d.step)) continue;
    named.insert({d.step, d.other});
    std::set<ObjectIndex> roots;
    for (const MemoryUse& use : memoryUse(plan_, plan_.step(d.other))) {
      roots.insert(rootOf(plan_, use.memory));
    }
    for (const MemoryUse& use : memoryUse(plan_, plan_.step(d.step))) {
      if (d.memory == 0 && roots.contains(rootOf(plan_, use.memory))) d.memory = use.memory;
    }
    const ReplayStep& other = plan_.step(d.other);
    const std::string what =
        other.kind() == CommandKind::kLaunch
            ? fmt::format("launch {} ({})", other.launch, plan_.kernelName(other))
            : fmt::format("command {}", other.header.sequence);
    d.evidence = fmt::format(
        "nothing orders it and {}, which uses the same memory: what it is given depends on which "
        "comes first",
        what);
    report_.divergences.push_back(std::move(d));
  }
}

void Check::findUnlikeRecorded(const RunResult& serial_run) {
  // Without another cause before it, equal launches before it mean equal inputs.
  StepIndex first_other = kNoStep;
  for (const Divergence& d : report_.divergences) first_other = std::min(first_other, d.step);
  for (uint32_t launch = 1; launch < facts_.size(); ++launch) {
    const StepIndex step = plan_.launch(launch);
    if (!facts_[launch].unlike_recorded || step > first_other) continue;
    Divergence d;
    d.step = step;
    d.cause = serial_run.problem_count != 0 ? DivergenceCause::kMissingData
                                            : DivergenceCause::kCompilerDifference;
    for (const LaunchHash& hash : serial_run.launch_hashes) {
      if (hash.launch == launch) d.memory = hash.unlike_recorded.front().memory;
    }
    d.evidence =
        d.cause == DivergenceCause::kMissingData
            ? fmt::format("the recording could not be replayed whole: {}",
                          serial_run.problems.front().text)
            : fmt::format("all {} runs of it agree with each other and not with the recording{}",
                          facts_[launch].runs,
                          report_.same_device ? "" : "; the device is not the recorded one");
    report_.divergences.push_back(std::move(d));
    return;
  }
  if (report_.shown != report_.shown_equal && report_.divergences.empty()) {
    note(fmt::format(
        "{} of {} read-backs are not those of the recording, though every replay agrees: {}. "
        "A recording made with --launch-hashes names the launch",
        report_.shown - report_.shown_equal, report_.shown,
        serial_run.problem_count != 0 ? "parts of it could not be replayed"
        : report_.same_device         ? "the driver or compiler is another"
                                      : "the device is another"));
  }
}

void Check::describe(Divergence& d) {
  const ReplayStep& step = plan_.step(d.step);
  if (step.kind() != CommandKind::kLaunch) return;
  const std::span<const uint32_t> arguments = plan_.listOf(step);
  for (uint32_t a = 0; a < arguments.size(); ++a) {
    if (arguments[a] != kNoStep && plan_.step(arguments[a]).other == d.memory &&
        d.argument == UINT32_MAX) {
      d.argument = a;
    }
  }
  for (const DifferenceExample& example : examples_) {
    if (example.launch != step.launch || example.memory != d.memory) continue;
    d.argument_type = example.argument_type;
    d.difference = compareTyped(example.one, example.other, elementTypeOf(example.argument_type));
  }
}

Result<DeterminismReport> Check::go() {
  const uint32_t runs = options_.runs == 0 ? kAdaptiveRuns : std::max(options_.runs, kLeastRuns);
  total_ = 7 + kOrders + 2.0 * runs / 3;
  // First as it is. A third of the runs each with: the driver's own threads, one, and many.
  const uint32_t share = runs / 3;
  const ChildOutcome plain = run("each launch again", serial(runs - 2 * share - 1));
  if (plain.end == ChildEnd::kFailed) return tl::unexpected<Error>(plain.error);
  if (plain.end == ChildEnd::kDone) {
    report_.device = plain.result.device;
    report_.same_device = plain.result.same_device;
    report_.shown = plain.result.shown;
    report_.shown_equal = plain.result.shown_equal;
    report_.launches = static_cast<uint32_t>(plain.result.launch_hashes.size());
    for (const StepProblem& problem : plain.result.problems) {
      note(problem.step == kNoStep
               ? problem.text
               : fmt::format("command {}: {}", plan_.step(problem.step).header.sequence,
                             problem.text));
    }
    learn(plain.result, "the driver's own threads");
  }
  ChildSettings one = serial(share - 1);
  one.run.seed = 1000 * options_.seed;  // other orders of work-groups
  one.environment = {{"POCL_MAX_PTHREAD_COUNT", "1"}};
  const ChildOutcome with_one = run("with one thread", one);
  if (with_one.end == ChildEnd::kDone) learn(with_one.result, "one thread");
  ChildSettings many = serial(share - 1);
  many.run.seed = 1000 * options_.seed + 500;
  many.environment = {{"POCL_MAX_PTHREAD_COUNT",
                       std::to_string(std::max(4u, 4 * std::thread::hardware_concurrency()))}};
  const ChildOutcome with_many = run("with many threads", many);
  if (with_many.end == ChildEnd::kDone) learn(with_many.result, "many threads");
  const ScratchFolder cold_cache;
  ChildSettings cold = serial(0);
  cold.environment = {{"POCL_CACHE_DIR", cold_cache.path()}};
  const ChildOutcome with_cold = run("with programs compiled anew", cold);
  if (with_cold.end == ChildEnd::kDone) learn(with_cold.result, "programs compiled anew");
  report_.runs = runs + 1;
  report_.share_found = 1 - std::pow(kMissed, 1.0 / (runs + 1));
  findSelfDifferent();
  findUninitialised();
  // Chance alone would hardly move a command past another that comes many commands after it.
  const OrderChanges changes = orderChanges(plan_, StepDependencies::of(plan_), kDirectedOrders);
  if (changes.left_out != 0) {
    note(
        fmt::format("{} commands that nothing orders with others that use the same memory were "
                    "moved by chance alone",
                    changes.left_out));
  }
  const size_t directed = changes.late.size();
  const size_t count = std::max(kOrders, directed + kRandomOrders);
  std::vector<RunResult> orders;
  for (size_t i = 0; i < count; ++i) {
    ChildSettings random = serial(0);
    random.run.order = ReplayOrder::kRandom;
    random.run.seed = options_.seed + i;
    if (i < directed) random.run.late = changes.late[i];
    ChildOutcome outcome = run(fmt::format("in legal order {} of {}", i + 1, count), random);
    if (outcome.end == ChildEnd::kDone) orders.push_back(std::move(outcome.result));
  }
  report_.orders = static_cast<uint32_t>(orders.size());
  if (plain.end == ChildEnd::kDone) {
    findUnordered(orders, plain.result);
    findUnlikeRecorded(plain.result);
  }
  std::sort(report_.divergences.begin(), report_.divergences.end(),
            [](const Divergence& a, const Divergence& b) { return a.step < b.step; });
  for (Divergence& d : report_.divergences) describe(d);
  for (const PlanNote& n : plan_.notes()) {
    note(fmt::format("command {} {}", plan_.step(n.step).header.sequence, n.text));
  }
  return std::move(report_);
}

}  // namespace

const char* toString(DivergenceCause cause) {
  switch (cause) {
    case DivergenceCause::kScheduleDependent:
      return "schedule-dependent";
    case DivergenceCause::kAtomicOrder:
      return "atomic or reduction order";
    case DivergenceCause::kUninitialisedRead:
      return "uninitialised read";
    case DivergenceCause::kMissingSynchronisation:
      return "missing synchronisation";
    case DivergenceCause::kCompilerDifference:
      return "driver or compiler difference";
    case DivergenceCause::kMissingData:
      return "missing data in the recording";
  }
  return "";
}

Result<DeterminismReport> checkDeterminism(const ReplayPlan& plan, RecordingReader& reader,
                                           const DeterminismOptions& options) {
  return Check(plan, reader, options).go();
}

}  // namespace tracesmith
