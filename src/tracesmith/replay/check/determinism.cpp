// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/check/determinism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "tracesmith/replay/plan/kernel_text.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/order_changes.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/run/pair_run.hpp"
#include "tracesmith/replay/run/scratch_folder.hpp"

namespace tracesmith {

using namespace recording;

namespace {

constexpr uint32_t kAdaptiveRuns = 26;  // 0.7^26 < 10^-4
constexpr uint32_t kLeastRuns = 10;
constexpr size_t kOrders = 14;  // number of legal orders to try
// Least number of random ones: for commands that use memory unseen
constexpr size_t kRandomOrders = 4;
constexpr size_t kDirectedOrders = 20;  // most directed orders
constexpr size_t kPairs = 256;          // most pairs of unordered commands
constexpr int kPairRuns = 16;           // most runs that try pairs
constexpr size_t kNamedAlike = 3;       // most divergences named per cause and kernel
constexpr double kMissed = 1e-4;
constexpr int kControlTwins = 3;

using Outputs = std::map<ObjectIndex, std::vector<ContentHash>>;

/// Facts about one launch, collected over all runs.
struct LaunchFacts {
  bool seen = false;
  uint64_t input = 0;
  Outputs first;                   // input of the first run
  uint32_t runs = 0;               // runs from that input
  uint32_t unlike = 0;             // of those, runs with different output
  ObjectIndex memory = 0;          // first memory object that differed
  std::set<std::string> settings;  // settings in which it differed
  bool unlike_recorded = false;
  bool recorded = false;
};

/// Data read back and final memory of one replay in a legal order.
struct OrderRun {
  uint64_t number = 0;
  std::vector<ShownHash> shown;
  std::vector<MemoryHash> left;
};

class Check {
 public:
  Check(const ReplayPlan& plan, RecordingReader& reader, const DeterminismOptions& options)
      : plan_(plan), reader_(reader), options_(options), facts_(plan.launches() + 1) {}
  Result<DeterminismReport> go();

 private:
  ChildOutcome run(const std::string& what, ChildSettings settings);
  ChildSettings serial(uint32_t repeats) const;
  void takePlain(const RunResult& plain);
  void runVariants(uint32_t share, bool device_is_known);
  std::vector<OrderRun> runOrders(const StepDependencies& dependencies);
  void completeReport();
  /// `setting`: the setting of the run.
  void learn(const RunResult& result, const std::string& setting);
  void keepExamples(const RunResult& result);
  void findSelfDifferent();
  std::vector<UninitialisedUse> twinDifferences(const std::string& what, bool noise);
  bool differsWithoutNoise(const UninitialisedUse& use);
  void findUninitialised();
  void findUnordered(const StepDependencies& dependencies);
  void nameUnordered(const PairOutcome& outcome);
  void compareOrders(const RunResult& serial_run, const std::vector<OrderRun>& orders);
  void findUnlikeRecorded(const RunResult& serial_run);
  void describe(Divergence& divergence);
  std::string nameOf(StepIndex step) const;
  std::vector<bool> handedOn() const;
  bool usesAtomics(const ReplayStep& launch);
  void note(std::string text) { report_.notes.push_back(std::move(text)); }
  bool isDivergent(StepIndex step) const;
  uint32_t leastRuns() const;
  void sayProgress(const std::string& what) {
    if (options_.progress) options_.progress(what, std::min(1.0, done_ / total_));
  }

  const ReplayPlan& plan_;
  RecordingReader& reader_;
  const DeterminismOptions& options_;
  DeterminismReport report_;
  std::vector<LaunchFacts> facts_;  // by launch number
  std::vector<DifferenceExample> examples_;
  double done_ = 0;
  double total_ = 1;
  bool orders_agree_ = true;     // all orders agree on all data read back
  std::set<StepIndex> unnamed_;  // divergent too, but not named after kNamedAlike of their kind
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
    report_.complete = false;
    note(fmt::format("{}: the replay {} {}; its findings are missing here", what,
                     describeEnd(outcome), at));
  }
  return outcome;
}

void Check::learn(const RunResult& result, const std::string& setting) {
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
    const auto differs = [&](ObjectIndex memory, const std::string& in) {
      ++facts.unlike;
      if (facts.memory == 0) facts.memory = memory;
      facts.settings.insert(in);
    };
    // Repetitions start from the input of this run, whatever other runs did.
    facts.runs += hash.runs_again;
    for (const auto& repeat : hash.repeats) differs(repeat.memory, setting);
    for (const auto& repeat : hash.permuted) {
      differs(repeat.memory, "other orders of its work-groups");
    }
    if (hash.input != facts.input) continue;  // outputs from other inputs are not comparable
    ++facts.runs;
    for (const auto& [memory, chunks] : facts.first) {
      const auto now = outputs.find(memory);
      if (now != outputs.end() && now->second != chunks) {
        differs(memory, setting);
        break;
      }
    }
  }
  keepExamples(result);
}

void Check::keepExamples(const RunResult& result) {
  for (const DifferenceExample& example : result.examples) {
    const bool known =
        std::any_of(examples_.begin(), examples_.end(), [&](const DifferenceExample& e) {
          return e.launch == example.launch && e.memory == example.memory;
        });
    if (!known) examples_.push_back(example);
  }
}

bool Check::isDivergent(StepIndex step) const {
  return unnamed_.contains(step) ||
         std::any_of(report_.divergences.begin(), report_.divergences.end(),
                     [&](const Divergence& d) { return d.step == step || d.other == step; });
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
    d.evidence = fmt::format("produced different output in {} of {} runs from equal inputs ({})",
                             facts.unlike, facts.runs, settings);
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

/// True if a launch varies by itself, which would explain the difference. Twin replays with equal
/// memory differ only because of such launches, and one may not have shown up in the checks before.
bool Check::differsWithoutNoise(const UninitialisedUse& use) {
  for (int i = 0; i < kControlTwins; ++i) {
    const auto differences = twinDifferences("equal memory, as a control", false);
    for (const UninitialisedUse& control : differences) {
      if (control.step > use.step) break;
      if (plan_.step(control.step).kind() != CommandKind::kLaunch || isDivergent(control.step) ||
          handedOn()[control.step]) {
        continue;
      }
      Divergence d;
      d.step = control.step;
      d.memory = control.memory;
      d.cause = usesAtomics(plan_.step(d.step)) ? DivergenceCause::kAtomicOrder
                                                : DivergenceCause::kScheduleDependent;
      d.evidence = "two replays side by side, with equal memory, produced different output";
      report_.divergences.push_back(std::move(d));
      return true;
    }
  }
  return false;
}

void Check::findUninitialised() {
  // Results computed from such bytes pass the difference on to everything after them, and a launch
  // that varies by itself also makes the twins differ. So only the first of each chain is named.
  size_t named = 0;
  for (const UninitialisedUse& use : twinDifferences("uninitialised memory", true)) {
    const ReplayStep& step = plan_.step(use.step);
    if (isDivergent(use.step) || handedOn()[use.step]) continue;
    if (step.kind() != CommandKind::kLaunch) {
      note(fmt::format("the host reads {} uninitialised bytes of {} (first: byte {})", use.bytes,
                       plan_.objectName(use.memory), use.first_byte));
      continue;
    }
    if (++named > kNamedAlike) {
      unnamed_.insert(use.step);
      continue;
    }
    if (differsWithoutNoise(use) && (isDivergent(use.step) || handedOn()[use.step])) continue;
    Divergence d;
    d.step = use.step;
    d.cause = DivergenceCause::kUninitialisedRead;
    d.memory = use.memory;
    d.evidence = fmt::format("{} bytes of its output depend on uninitialised memory", use.bytes);
    report_.divergences.push_back(std::move(d));
  }
}

std::string Check::nameOf(StepIndex step) const {
  const ReplayStep& s = plan_.step(step);
  return s.kind() == CommandKind::kLaunch
             ? fmt::format("launch {} ({})", s.launch, plan_.kernelName(s))
             : fmt::format("command {}", s.header.sequence);
}

/// For each step: whether it uses memory that a divergent step may have changed.
std::vector<bool> Check::handedOn() const {
  std::vector<bool> out(plan_.steps().size());
  std::set<ObjectIndex> roots;
  std::set<StepIndex> sources = unnamed_;
  for (const Divergence& d : report_.divergences) {
    sources.insert(d.step);
    if (d.other != kNoStep) sources.insert(d.other);
  }
  for (StepIndex i = 0; i < plan_.steps().size(); ++i) {
    if (!isCommand(plan_.step(i)) || (roots.empty() && !sources.contains(i))) continue;
    const std::vector<MemoryUse> uses = memoryUse(plan_, plan_.step(i));
    for (const MemoryUse& use : uses) {
      if (use.reads && roots.contains(rootOf(plan_, use.memory))) out[i] = true;
    }
    if (!out[i] && !sources.contains(i)) continue;
    for (const MemoryUse& use : uses) {
      if (use.writes) roots.insert(rootOf(plan_, use.memory));
    }
  }
  return out;
}

void Check::nameUnordered(const PairOutcome& outcome) {
  const auto& [first, second, root] = outcome.pair;
  Divergence d;
  d.step = second;
  d.other = first;
  d.cause = DivergenceCause::kMissingSynchronisation;
  d.memory = root;
  for (const MemoryUse& use : memoryUse(plan_, plan_.step(second))) {
    if (use.memory == outcome.memory) d.memory = outcome.memory;
  }
  d.evidence = fmt::format("it is not ordered with {}, which also uses {}; in the opposite order ",
                           nameOf(first), plan_.objectName(root));
  d.evidence +=
      outcome.shown_by != kNoStep
          ? fmt::format("{} bytes that the host reads differ", fmt::group_digits(outcome.bytes))
          : fmt::format("{} bytes of {} differ", fmt::group_digits(outcome.bytes),
                        plan_.objectName(outcome.memory));
  d.evidence += fmt::format(" (first: byte {})", outcome.first_byte);
  report_.divergences.push_back(std::move(d));
}

void Check::findUnordered(const StepDependencies& dependencies) {
  UnorderedPairs all = unorderedPairs(plan_, dependencies, kPairs);
  if (all.too_many_commands) {
    note(
        "there are too many commands to check each unordered pair: only whole queues were delayed, "
        "and random orders were tried");
  }
  if (all.left_out != 0) {
    note(
        fmt::format("{} unordered pairs of commands were not tried: there are more than {}, or "
                    "more than {} of the same kernels and memory",
                    all.left_out, kPairs, UnorderedPairs::kMostAlike));
  }
  std::vector<UnorderedPair> left;
  for (const UnorderedPair& pair : all.pairs) {
    if (canTry(plan_, pair)) left.push_back(pair);
  }
  std::map<std::pair<std::string, std::string>, size_t> alike;
  for (int i = 0; i < kPairRuns && !left.empty(); ++i) {
    ChildSettings settings = serial(0);
    settings.pairs = left;
    const ChildOutcome outcome = run("two commands in both orders", settings);
    if (outcome.end != ChildEnd::kDone || outcome.result.pairs.empty()) break;
    keepExamples(outcome.result);
    for (const PairOutcome& tried : outcome.result.pairs) {
      const auto& [first, second, root] = tried.pair;
      std::erase_if(left, [&, f = first, s = second](const UnorderedPair& p) {
        return p.first == f && p.second == s;
      });
      if (!tried.tried || tried.unsteady || tried.bytes == 0) continue;
      const std::string kernels[] = {plan_.kernelName(plan_.step(first)),
                                     plan_.kernelName(plan_.step(second))};
      if (++alike[{kernels[0], kernels[1]}] <= kNamedAlike) {
        nameUnordered(tried);
      } else {
        unnamed_.insert({first, second});
      }
    }
  }
  if (!left.empty()) {
    note(fmt::format("{} unordered pairs of commands could not be tried", left.size()));
  }
}

/// Reports differences between orders that no pair explains: caused by memory unknown to the
/// recording, or by commands that cannot be tried.
void Check::compareOrders(const RunResult& serial_run, const std::vector<OrderRun>& orders) {
  std::map<StepIndex, uint64_t> shown;
  std::map<ObjectIndex, uint64_t> left;
  for (const ShownHash& s : serial_run.shown_hashes) shown[s.step] = s.hash;
  for (const MemoryHash& m : serial_run.left) left[m.memory] = m.hash;
  StepIndex first = kNoStep;
  uint64_t in_order = 0;
  ObjectIndex memory = 0;
  const std::vector<bool> handed_on = handedOn();
  for (const OrderRun& order : orders) {
    for (const ShownHash& s : order.shown) {
      const auto serial = shown.find(s.step);
      if (serial == shown.end() || serial->second == s.hash) continue;
      orders_agree_ = false;
      if (handed_on[s.step] || isDivergent(s.step) || s.step >= first) continue;
      first = s.step;
      in_order = order.number;
    }
    for (const MemoryHash& m : order.left) {
      const auto serial = left.find(m.memory);
      if (serial != left.end() && serial->second != m.hash && memory == 0) memory = m.memory;
    }
  }
  if (first != kNoStep) {
    Divergence d;
    d.step = first;
    d.memory = plan_.step(first).object;
    d.cause = DivergenceCause::kMissingSynchronisation;
    d.evidence = fmt::format(
        "shows different bytes in legal order {}; which two commands are not ordered was not found",
        in_order);
    report_.divergences.push_back(std::move(d));
  } else if (memory != 0 && report_.divergences.empty()) {
    note(fmt::format(
        "the final content of {} differs in another legal order, but no data that is read back",
        plan_.objectName(memory)));
  }
}

void Check::findUnlikeRecorded(const RunResult& serial_run) {
  size_t named = 0;
  for (uint32_t launch = 1; launch < facts_.size() && named < kNamedAlike; ++launch) {
    const StepIndex step = plan_.launch(launch);
    // Skip launches whose difference comes from another divergence or from one named here.
    if (!facts_[launch].unlike_recorded || isDivergent(step) || handedOn()[step]) continue;
    ++named;
    Divergence d;
    d.step = step;
    d.cause = serial_run.problem_count != 0 ? DivergenceCause::kMissingData
                                            : DivergenceCause::kCompilerDifference;
    for (const LaunchHash& hash : serial_run.launch_hashes) {
      if (hash.launch == launch) d.memory = hash.unlike_recorded.front().memory;
    }
    d.evidence =
        d.cause == DivergenceCause::kMissingData
            ? fmt::format("the recording could not be replayed completely: {}",
                          serial_run.problems.front().text)
            : fmt::format("all {} runs of it agree with each other but not with the recording{}",
                          facts_[launch].runs,
                          report_.same_device ? "" : "; the device is not the recorded one");
    report_.divergences.push_back(std::move(d));
  }
  if (report_.shown != report_.shown_equal && report_.divergences.empty()) {
    note(
        fmt::format("{} of {} read-backs differ from the recording{}: {}. A recording made with "
                    "--launch-hashes identifies the launch",
                    report_.shown - report_.shown_equal, report_.shown,
                    orders_agree_ ? ", although all replays agree" : "",
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

/// The smallest number of runs from equal inputs over all executed launches.
uint32_t Check::leastRuns() const {
  uint32_t least = UINT32_MAX;
  for (const LaunchFacts& facts : facts_) {
    if (facts.seen) least = std::min(least, facts.runs);
  }
  return least == UINT32_MAX ? 0 : least;
}

/// Takes over the results of the replay in recorded order.
void Check::takePlain(const RunResult& plain) {
  report_.device = plain.device;
  report_.same_device = plain.same_device;
  report_.shown = plain.shown;
  report_.shown_equal = plain.shown_equal;
  report_.launches = static_cast<uint32_t>(plain.launch_hashes.size());
  for (const StepProblem& problem : plain.problems) {
    note(problem.step == kNoStep
             ? problem.text
             : fmt::format("command {}: {}", plan_.step(problem.step).header.sequence,
                           problem.text));
  }
  learn(plain, "the driver's own threads");
}

/// Runs a third of the runs with one driver thread, a third with many, and one run with recompiled
/// programs. `device_is_known`: the run before them completed.
void Check::runVariants(uint32_t share, bool device_is_known) {
  const ScratchFolder cold_cache;
  const std::string threads = std::to_string(std::max(4u, 4 * std::thread::hardware_concurrency()));
  const struct {
    const char* doing;
    const char* setting;
    std::pair<std::string, std::string> variable;
    uint32_t repeats;
    uint64_t seed;  // seed for the orders of work-groups
  } variants[] = {
      {"with one thread", "one thread", {"POCL_MAX_PTHREAD_COUNT", "1"}, share - 1, 0},
      {"with many threads", "many threads", {"POCL_MAX_PTHREAD_COUNT", threads}, share - 1, 500},
      {"with recompiled programs",
       "recompiled programs",
       {"POCL_CACHE_DIR", cold_cache.path()},
       0,
       0},
  };
  const bool pocl = report_.device.starts_with("Portable Computing Language");
  if (!pocl && device_is_known) {
    note(
        "the driver's number of threads and its program cache can be set only for PoCL: on this "
        "driver, plain repetitions replace those runs");
  }
  for (const auto& variant : variants) {
    ChildSettings settings = serial(variant.repeats);
    settings.run.seed = 1000 * options_.seed + variant.seed;
    settings.environment = {variant.variable};
    const ChildOutcome outcome = run(pocl ? variant.doing : "each launch again", settings);
    if (outcome.end == ChildEnd::kDone) learn(outcome.result, pocl ? variant.setting : "again");
  }
}

std::vector<OrderRun> Check::runOrders(const StepDependencies& dependencies) {
  // Random orders would rarely move a command past one that comes many commands later.
  const OrderChanges changes = orderChanges(plan_, dependencies, kDirectedOrders);
  const size_t directed = changes.late.size();
  const size_t count = std::max(kOrders, directed + kRandomOrders);
  std::vector<OrderRun> orders;
  for (size_t i = 0; i < count; ++i) {
    ChildSettings random = serial(0);
    random.run.order = ReplayOrder::kRandom;
    random.run.seed = options_.seed + i;
    if (i < directed) random.run.late = changes.late[i];
    ChildOutcome outcome = run(fmt::format("in legal order {} of {}", i + 1, count), random);
    if (outcome.end != ChildEnd::kDone) continue;
    orders.push_back(
        {i + 1, std::move(outcome.result.shown_hashes), std::move(outcome.result.left)});
  }
  return orders;
}

/// Completes the report's text for each divergence, after all have been found.
void Check::completeReport() {
  if (!unnamed_.empty()) {
    note(fmt::format("{} more commands are involved in divergences like those named",
                     unnamed_.size()));
  }
  std::sort(report_.divergences.begin(), report_.divergences.end(),
            [](const Divergence& a, const Divergence& b) { return a.step < b.step; });
  for (Divergence& d : report_.divergences) describe(d);
  for (const PlanNote& n : plan_.notes()) {
    note(fmt::format("command {} {}", plan_.step(n.step).header.sequence, n.text));
  }
}

Result<DeterminismReport> Check::go() {
  const uint32_t runs = options_.runs == 0 ? kAdaptiveRuns : std::max(options_.runs, kLeastRuns);
  total_ = 7 + kOrders + 2.0 * runs / 3;
  // The first run uses the recorded order. Then a third of the runs each with: the driver's own
  // number of threads, one, and many.
  const uint32_t share = runs / 3;
  const ChildOutcome plain = run("each launch again", serial(runs - 2 * share - 1));
  if (plain.end == ChildEnd::kFailed) return tl::unexpected<Error>(plain.error);
  const bool plain_done = plain.end == ChildEnd::kDone;
  if (plain_done) takePlain(plain.result);
  runVariants(share, plain_done);
  report_.runs = leastRuns();
  if (report_.runs != 0) report_.share_found = 1 - std::pow(kMissed, 1.0 / report_.runs);
  findSelfDifferent();
  findUninitialised();
  const StepDependencies dependencies = StepDependencies::of(plan_);
  findUnordered(dependencies);
  const std::vector<OrderRun> orders = runOrders(dependencies);
  report_.orders = static_cast<uint32_t>(orders.size());
  if (plain_done) {
    compareOrders(plain.result, orders);
    findUnlikeRecorded(plain.result);
  }
  completeReport();
  return std::move(report_);
}

}  // namespace

Result<DeterminismReport> checkDeterminism(const ReplayPlan& plan, RecordingReader& reader,
                                           const DeterminismOptions& options) {
  return Check(plan, reader, options).go();
}

}  // namespace tracesmith
