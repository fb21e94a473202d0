// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/replay_run.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <deque>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/run/content_comparison.hpp"

namespace tracesmith {

using namespace recording;

namespace {

LaunchHash::Output outputOf(ObjectIndex memory, ByteView bytes) {
  LaunchHash::Output output{memory, {}};
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    output.chunks.push_back(
        hashOf(bytes.subspan(at, std::min<size_t>(kChunkBytes, bytes.size() - at))));
  }
  return output;
}

/// The first step that is not replayed.
StepIndex stepsEndOf(const ReplayPlan& plan, const RunSettings& settings) {
  return std::min(static_cast<StepIndex>(plan.steps().size()),
                  plan.launch(settings.until_launch + 1));
}

/// Selected steps and those they need, including steps after the end that an earlier step may need.
std::vector<bool> chosenOfAll(const ReplayPlan& plan, const RunSettings& settings) {
  if (!settings.steps.empty()) return stepsNeeded(plan, settings.steps);
  std::vector<bool> chosen(plan.steps().size());
  auto range = settings.ranges.begin();  // ranges are sorted, and so are launches
  for (size_t i = 0; i < chosen.size(); ++i) {
    const ReplayStep& step = plan.step(static_cast<StepIndex>(i));
    while (range != settings.ranges.end() && range->last < step.launch) ++range;
    if (!isCommand(step)) continue;
    const bool of_queue =
        !settings.queue || (step.queue != 0 && plan.object(step.queue).ordinal == settings.queue);
    // Commands after a launch belong to it, up to the next launch.
    const bool in_range =
        settings.ranges.empty() || (range != settings.ranges.end() && step.launch >= range->first);
    chosen[i] = of_queue && in_range;
  }
  return stepsNeeded(plan, chosen);
}

class Run {
 public:
  Run(const ReplayPlan& plan, RecordingReader& reader, Executor& executor,
      const RunSettings& settings, RunProgress* progress)
      : plan_(plan),
        reader_(reader),
        executor_(executor),
        settings_(settings),
        progress_(progress) {}

  RunResult go();

 private:
  bool selects() const {
    return !settings_.ranges.empty() || settings_.queue.has_value() || !settings_.steps.empty();
  }
  void performInOrder();
  void performInRandomOrder();
  void perform(StepIndex i);
  /// True if the call was issued.
  bool performAlone(StepIndex i);
  void compareShown(StepIndex i);
  void compareLater(StepIndex i);
  void comparePending(StepIndex until, uint64_t most_bytes);
  void compare(const ReplayStep& command, const Done& done, ByteView bytes);
  void hashLaunch(StepIndex i);
  void repeatLaunch(StepIndex i, const std::vector<std::pair<ObjectIndex, Bytes>>& before,
                    LaunchHash& out);
  void keepExample(uint32_t launch, const std::pair<ObjectIndex, Bytes>& one, const Bytes& other);
  void compareWithRecorded(StepIndex i, LaunchHash& hash);
  void compareLaunch(StepIndex i);
  template <class F>
  void forEachRecordedHash(StepIndex launch, F&& f) const;
  void takeDumps(uint32_t launch, bool before = false);
  void hashRemaining();
  void keepSeen(Observation seen, ByteView bytes);
  void look(uint32_t after);
  void waitForItsTime(const ReplayStep& step);
  void begins();
  void problem(StepIndex step, std::string text);
  std::vector<StepIndex> stops() const;

  const ReplayPlan& plan_;
  RecordingReader& reader_;
  Executor& executor_;
  const RunSettings& settings_;
  RunProgress* progress_;
  RunResult result_;
  std::vector<bool> needed_;
  int64_t began_ns_ = 0;
  int64_t recorded_begin_ns_ = 0;
  uint64_t seen_bytes_ = 0;  // bytes kept so far
  // For kConcurrent: ends of commands whose results have yet to be compared.
  std::deque<StepIndex> pending_;
  uint64_t pending_bytes_ = 0;
  StepMode mode_ = StepMode::kAsRecorded;
};

void Run::problem(StepIndex step, std::string text) {
  ++result_.problem_count;
  if (result_.problems.size() < RunResult::kMostNamed) {
    result_.problems.push_back({step, std::move(text)});
  }
}

void Run::waitForItsTime(const ReplayStep& step) {
  const double after =
      static_cast<double>(step.header.start_ns - recorded_begin_ns_) / settings_.speed;
  constexpr double kLongest = 4e18;  // --speed has no lower limit
  const auto since = static_cast<int64_t>(std::clamp(after, 0.0, kLongest));
  if (executor_.holdUntil(since)) return;
  const int64_t at = began_ns_ + since;
  for (int64_t now = monotonicNs(); now < at; now = monotonicNs()) {
    constexpr int64_t kSlice = 500'000'000;
    const int64_t until = std::min(at, now + kSlice);
    timespec when{};
    when.tv_sec = static_cast<time_t>(until / 1'000'000'000);
    when.tv_nsec = until % 1'000'000'000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    begins();
  }
}

/// Restarts the time limit: for a call, or a repetition of a launch.
void Run::begins() {
  if (progress_ != nullptr) progress_->since_ns.store(monotonicNs(), std::memory_order_relaxed);
}

void Run::perform(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  if (!needed_.empty() && !needed_[i]) {
    ++result_.skipped;
    if (mode_ == StepMode::kAsRecorded) executor_.skipCommand(i);
    return;
  }
  begins();
  if (progress_ != nullptr) progress_->step.store(i, std::memory_order_relaxed);
  if (settings_.order == ReplayOrder::kTiming) waitForItsTime(step);
  // A failed launch has the number of the launch before it.
  const bool launches = step.kind() == CommandKind::kLaunch && step.header.result == 0;
  const bool dumps = launches && settings_.order != ReplayOrder::kRandom;
  if (dumps) takeDumps(step.launch, true);
  const bool builds = step.kind() == CommandKind::kBuildProgram;
  const int64_t before = builds ? monotonicNs() : 0;
  const bool hashes = settings_.hash_launches && launches && step.launch >= settings_.hash_from;
  if (hashes) {
    hashLaunch(i);
  } else if (performAlone(i) && settings_.compare_launches) {
    compareLaunch(i);
  }
  if (builds) result_.building_ns += monotonicNs() - before;
  if (progress_ != nullptr) progress_->steps_done.fetch_add(1, std::memory_order_relaxed);
  if (launches && progress_ != nullptr) {
    progress_->launches_done.store(step.launch, std::memory_order_relaxed);
  }
  if (dumps) takeDumps(step.launch);
}

bool Run::performAlone(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  StepOutcome outcome = executor_.perform(i, mode_);
  if (!outcome.executed) {
    // Steps that represent no call are neither executed nor skipped.
    const bool added_by_agent =
        (step.header.flags & command_flags::kAddedByAgent) != 0 ||
        step.kind() == CommandKind::kDone || step.kind() == CommandKind::kDevice ||
        step.kind() == CommandKind::kRangeEdge || step.kind() == CommandKind::kSnapshot ||
        step.kind() == CommandKind::kEnd;
    // A failed command changed nothing, so nothing is missing.
    const bool no_loss = step.header.result != 0 && outcome.problem.empty();
    if (!added_by_agent && outcome.simulated) {
      ++result_.simulated;
      if (step.kind() == CommandKind::kLaunch) ++result_.launches;
    } else if (!added_by_agent && !no_loss) {
      ++result_.skipped;
    }
    if (!settings_.given_order.empty() && isCommand(step)) result_.not_executed.push_back(i);
  } else {
    ++result_.executed;
    if (step.kind() == CommandKind::kLaunch && step.header.result == 0) ++result_.launches;
    // The return code of a call that waited is in its Done.
    int32_t recorded = step.header.result;
    if ((step.header.flags & command_flags::kStarted) != 0 && step.done != kNoStep) {
      recorded = plan_.step(step.done).header.result;
    }
    if (outcome.result == recorded) {
      if (recorded != 0) ++result_.failed_alike;
    } else if (outcome.problem.empty()) {
      outcome.problem = fmt::format("returned {}; recorded: {}", outcome.result, recorded);
    }
  }
  if (!outcome.problem.empty()) problem(i, std::move(outcome.problem));
  return outcome.executed;
}

void Run::compareShown(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  if (step.of == kNoStep || (!needed_.empty() && !needed_[step.of])) return;
  const ReplayStep& command = plan_.step(step.of);
  const bool shows = command.kind() == CommandKind::kRead || command.kind() == CommandKind::kMap ||
                     command.kind() == CommandKind::kSvmMap ||
                     (command.kind() == CommandKind::kSvmCopy && command.object == 0);
  Done done;
  if (!shows || !decode(step.fields, done)) return;
  const auto bytes = executor_.shown(step.of);
  if (!bytes) return;  // not executed, failed (reported already), or mapped to be overwritten
  if (settings_.hash_launches) result_.shown_hashes.push_back({step.of, hash64(*bytes)});
  if (!settings_.given_order.empty()) keepSeen({.step = step.of, .memory = command.object}, *bytes);
  if (done.content.bytes == 0 || !done.content.known() || done.content.bytes != bytes->size()) {
    ++result_.not_comparable;
    return;
  }
  compare(command, done, *bytes);
}

/// Compares the result of a command that has not been waited for.
void Run::compareLater(StepIndex i) {
  // Most bytes of read data that may wait for comparison.
  constexpr uint64_t kMostPendingBytes = 256u << 20;
  const ReplayStep& step = plan_.step(i);
  Done done;
  if (step.of == kNoStep || !decode(step.fields, done) || done.content.bytes == 0) {
    return compareShown(i);
  }
  pending_.push_back(i);
  pending_bytes_ += done.content.bytes;
  comparePending(kNoStep, kMostPendingBytes);
}

/// Compares the oldest, up to and including `until`, until at most `most_bytes` remain (0: all).
void Run::comparePending(StepIndex until, uint64_t most_bytes) {
  while (!pending_.empty() && pending_.front() <= until &&
         (most_bytes == 0 || pending_bytes_ > most_bytes)) {
    const StepIndex i = pending_.front();
    pending_.pop_front();
    Done done;
    if (decode(plan_.step(i).fields, done)) pending_bytes_ -= done.content.bytes;
    begins();
    if (progress_ != nullptr) progress_->step.store(plan_.step(i).of, std::memory_order_relaxed);
    compareShown(i);
  }
}

void Run::compare(const ReplayStep& command, const Done& done, ByteView bytes) {
  ++result_.shown;
  if (const auto chunk = firstDifferentChunk(bytes, done.content.chunks)) {
    ShownDifference difference;
    difference.step = static_cast<StepIndex>(&command - plan_.steps().data());
    difference.first_chunk = *chunk;
    if (done.kept != 0) {
      if (const auto recorded = reader_.content(done.content)) {
        for (size_t b = 0; b < bytes.size() && b < recorded->size(); ++b) {
          if (bytes[b] == (*recorded)[b]) continue;
          difference.first_byte = std::min<uint64_t>(difference.first_byte, b);
          ++difference.differing_bytes;
        }
      }
    }
    if (result_.differences.size() < RunResult::kMostNamed) {
      result_.differences.push_back(difference);
    }
    return;
  }
  ++result_.shown_equal;
}

/// Runs one launch alone, and hashes its memory before and after.
void Run::hashLaunch(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  LaunchHash hash;
  hash.launch = step.launch;
  std::vector<std::pair<ObjectIndex, Bytes>> before;
  uint64_t input = 0;
  for (const MemoryUse& use : memoryUse(plan_, step)) {
    auto bytes = executor_.contents(use.memory);
    if (!bytes) {
      problem(i, bytes.error().toString());
      continue;
    }
    input = hash64(*bytes, input + 1);
    before.emplace_back(use.memory, std::move(*bytes));
  }
  hash.input = input;
  begins();
  performAlone(i);
  begins();
  for (const auto& [memory, bytes] : before) {
    if (const auto after = executor_.contents(memory)) {
      hash.outputs.push_back(outputOf(memory, *after));
    }
  }
  if (settings_.repeats > 0) repeatLaunch(i, before, hash);
  compareWithRecorded(i, hash);
  result_.launch_hashes.push_back(std::move(hash));
}

void Run::repeatLaunch(StepIndex i, const std::vector<std::pair<ObjectIndex, Bytes>>& before,
                       LaunchHash& out) {
  // The rest of the program continues with the output of the first run.
  std::vector<std::pair<ObjectIndex, Bytes>> first;
  for (const auto& [memory, bytes] : before) {
    if (auto after = executor_.contents(memory)) first.emplace_back(memory, std::move(*after));
  }
  bool can_permute = true;
  for (uint32_t r = 0; r < settings_.repeats; ++r) {
    begins();
    for (const auto& [memory, bytes] : before) (void)executor_.setContents(memory, bytes);
    StepOutcome outcome;
    // Most runs have another order of work-groups; the others leave the order to the driver.
    bool permuted = can_permute && r % 3 != 2;
    if (permuted) {
      outcome = executor_.performPermuted(i, settings_.seed + r);
      permuted = can_permute = outcome.executed;
    }
    if (!permuted) outcome = executor_.perform(i, StepMode::kAlone);
    if (!outcome.executed || outcome.result != 0) break;
    if (permuted) ++out.permuted_runs;
    ++out.runs_again;
    for (size_t m = 0; m < before.size() && m < out.outputs.size(); ++m) {
      const auto after = executor_.contents(before[m].first);
      if (!after) continue;
      const LaunchHash::Output now = outputOf(before[m].first, *after);
      if (now == out.outputs[m]) continue;
      (permuted ? out.permuted : out.repeats).push_back(now);
      keepExample(out.launch, first[m], *after);
      break;
    }
  }
  for (const auto& [memory, bytes] : first) (void)executor_.setContents(memory, bytes);
}

void Run::keepExample(uint32_t launch, const std::pair<ObjectIndex, Bytes>& one,
                      const Bytes& other) {
  const auto same = [&](const DifferenceExample& e) {
    return e.launch == launch && e.memory == one.first;
  };
  if (result_.examples.size() >= RunResult::kMostExamples ||
      other.size() > RunResult::kMostExampleBytes ||
      std::any_of(result_.examples.begin(), result_.examples.end(), same)) {
    return;
  }
  result_.examples.push_back({launch, one.first,
                              typeOfArgumentFor(plan_, executor_, plan_.launch(launch), one.first),
                              one.second, other});
}

/// Calls f(memory, chunks) for each recorded output of a launch.
template <class F>
void Run::forEachRecordedHash(StepIndex launch, F&& f) const {
  const uint64_t sequence = plan_.step(launch).header.sequence;
  for (StepIndex s = launch + 1; s < plan_.steps().size(); ++s) {
    const ReplayStep& step = plan_.step(s);
    Snapshot snapshot;
    if (step.kind() == CommandKind::kLaunch) break;
    if (step.kind() != CommandKind::kSnapshot || !decode(step.fields, snapshot) ||
        snapshot.after != sequence + 1) {
      continue;
    }
    if (step.object != 0 && snapshot.content.known()) f(step.object, snapshot.content.chunks);
  }
}

void Run::compareWithRecorded(StepIndex i, LaunchHash& hash) {
  forEachRecordedHash(i, [&](ObjectIndex memory, std::span<const ContentHash> recorded) {
    for (const LaunchHash::Output& output : hash.outputs) {
      if (output.memory != memory) continue;
      hash.recorded = true;
      if (!std::equal(output.chunks.begin(), output.chunks.end(), recorded.begin(),
                      recorded.end())) {
        hash.unlike_recorded.push_back(output);
      }
    }
  });
}

void Run::compareLaunch(StepIndex i) {
  if (plan_.step(i).kind() != CommandKind::kLaunch) return;
  bool compared = false;
  bool equal = true;
  forEachRecordedHash(i, [&](ObjectIndex memory, std::span<const ContentHash> recorded) {
    const auto bytes = executor_.contents(memory);
    if (!bytes) return problem(i, bytes.error().toString());
    compared = true;
    const auto now = outputOf(memory, *bytes).chunks;
    const auto [first, other] =
        std::mismatch(now.begin(), now.end(), recorded.begin(), recorded.end());
    if (first == now.end() && other == recorded.end()) return;
    equal = false;
    if (result_.launch_differences.size() >= RunResult::kMostNamed) return;
    result_.launch_differences.push_back({i, memory, static_cast<uint64_t>(first - now.begin())});
  });
  if (!compared) return;
  ++result_.launches_compared;
  if (equal) ++result_.launches_equal;
}

void Run::takeDumps(uint32_t launch, bool before) {
  for (const DumpRequest& request : settings_.dumps) {
    if (request.launch != launch || request.before != before) continue;
    ObjectIndex memory = 0;
    for (size_t o = 1; o < plan_.objects().size(); ++o) {
      const PlannedObject& object = plan_.object(static_cast<ObjectIndex>(o));
      if (object.object_class == ObjectClass::kMemory && object.ordinal == request.memory) {
        memory = static_cast<ObjectIndex>(o);
      }
    }
    if (memory == 0) continue;
    auto bytes = executor_.contents(memory);
    if (bytes) {
      std::string type =
          launch == 0 ? "" : typeOfArgumentFor(plan_, executor_, plan_.launch(launch), memory);
      result_.dumps.push_back({request, memory, std::move(*bytes), std::move(type)});
    } else {
      problem(plan_.launch(launch), bytes.error().toString());
    }
  }
}

void Run::hashRemaining() {
  for (ObjectIndex o = 1; o < plan_.objects().size(); ++o) {
    const PlannedObject& object = plan_.object(o);
    if (object.object_class != ObjectClass::kMemory || rootOf(plan_, o) != o || !executor_.has(o)) {
      continue;
    }
    if (const auto bytes = executor_.contents(o)) result_.left.push_back({o, hash64(*bytes)});
  }
}

/// Launches before or after which memory is read, which waits for all queues.
std::vector<StepIndex> Run::stops() const {
  std::vector<StepIndex> stops;
  for (const DumpRequest& request : settings_.dumps) {
    if (request.launch != 0) stops.push_back(plan_.launch(request.launch));
  }
  std::sort(stops.begin(), stops.end());
  return stops;
}

void Run::keepSeen(Observation seen, ByteView bytes) {
  seen.chunks = outputOf(seen.memory, bytes).chunks;
  if (bytes.size() <= settings_.observed_bytes - seen_bytes_) {
    seen_bytes_ += bytes.size();
    seen.bytes.assign(bytes.begin(), bytes.end());
  }
  result_.seen.push_back(std::move(seen));
}

void Run::look(uint32_t after) {
  for (auto it = settings_.observation_points.lower_bound({after, 0});
       it != settings_.observation_points.end() && it->first == after; ++it) {
    if (const auto bytes = executor_.contents(it->second)) {
      keepSeen({.after = after, .memory = it->second}, *bytes);
    } else {
      problem(kNoStep, bytes.error().toString());
    }
  }
}

/// Performs steps in recorded order, or each command when everything before it has ended.
void Run::performInOrder() {
  const bool concurrent = mode_ == StepMode::kConcurrent;
  const StepIndex end = stepsEndOf(plan_, settings_);
  for (const StepIndex i :
       mode_ == StepMode::kAlone ? serialOrder(plan_, end) : callOrder(plan_, end, stops())) {
    const ReplayStep& step = plan_.step(i);
    if (step.kind() == CommandKind::kDone) {
      concurrent ? compareLater(i) : compareShown(i);
      continue;
    }
    // Compare mapped data before the host changes it.
    if (concurrent && step.kind() == CommandKind::kUnmap && step.of != kNoStep) {
      comparePending(plan_.step(step.of).done, 0);
    }
    if (concurrent && step.kind() == CommandKind::kSvmUnmap) comparePending(kNoStep, 0);
    perform(i);
  }
  comparePending(kNoStep, 0);
  while (executor_.waitForOldest()) begins();
}

/// Performs steps in another legal order; steps that do not move come first.
void Run::performInRandomOrder() {
  const auto count = static_cast<StepIndex>(plan_.steps().size());
  for (StepIndex i = 0; i < count; ++i) {
    if (!isMovable(plan_, i) && plan_.step(i).kind() != CommandKind::kDone) perform(i);
  }
  const StepDependencies dependencies = StepDependencies::of(plan_);
  result_.order = !settings_.given_order.empty() ? settings_.given_order
                  : settings_.late.empty() ? randomLegalOrder(plan_, dependencies, settings_.seed)
                                           : lateLegalOrder(plan_, dependencies, settings_.late);
  uint32_t done = 0;
  for (const StepIndex i : result_.order) {
    if (isExecutedAlone(plan_.step(i))) {
      perform(i);
      if (plan_.step(i).done != kNoStep) compareShown(plan_.step(i).done);
    }
    look(++done);
  }
}

RunResult Run::go() {
  result_.device = executor_.deviceName();
  result_.same_device = executor_.sameDevice();
  if (selects()) needed_ = chosenOfAll(plan_, settings_);
  const bool random = settings_.order == ReplayOrder::kRandom;
  if (!settings_.dumps.empty() || random) executor_.keepObjects();
  const bool alone = settings_.order == ReplayOrder::kSerial || random || settings_.hash_launches;
  const bool concurrent = settings_.order == ReplayOrder::kConcurrent && !alone;
  mode_ = alone ? StepMode::kAlone : concurrent ? StepMode::kConcurrent : StepMode::kAsRecorded;
  began_ns_ = monotonicNs();
  if (!plan_.steps().empty()) recorded_begin_ns_ = plan_.step(0).header.start_ns;
  random ? performInRandomOrder() : performInOrder();
  StepOutcome end = executor_.finish();
  if (!end.problem.empty()) problem(kNoStep, std::move(end.problem));
  result_.duration_ns = monotonicNs() - began_ns_;
  takeDumps(0);
  for (const StepIndex launch : stops()) {
    if (launch >= stepsEndOf(plan_, settings_) || (!needed_.empty() && !needed_[launch])) {
      problem(launch, "is not executed: memory cannot be shown before or after it");
    }
  }
  if (settings_.hash_launches) hashRemaining();
  return std::move(result_);
}

}  // namespace

std::vector<bool> stepsChosen(const ReplayPlan& plan, const RunSettings& settings) {
  std::vector<bool> chosen = chosenOfAll(plan, settings);
  std::fill(chosen.begin() + stepsEndOf(plan, settings), chosen.end(), false);
  return chosen;
}

RunResult runPlan(const ReplayPlan& plan, RecordingReader& reader, Executor& executor,
                  const RunSettings& settings, RunProgress* progress) {
  return Run(plan, reader, executor, settings, progress).go();
}

}  // namespace tracesmith
