// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/replay_run.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/replay/memory_use.hpp"
#include "tracesmith/replay/step_order.hpp"

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
    return !settings_.ranges.empty() || settings_.queue != 0 || !settings_.steps.empty();
  }
  std::vector<bool> wanted() const;
  void perform(StepIndex i);
  void performAlone(StepIndex i);
  void compareShown(StepIndex i);
  void compare(const ReplayStep& command, const Done& done, ByteView bytes);
  void hashLaunch(StepIndex i);
  void repeatLaunch(StepIndex i, const std::vector<std::pair<ObjectIndex, Bytes>>& before,
                    LaunchHash& out);
  void keepExample(uint32_t launch, const std::pair<ObjectIndex, Bytes>& one, const Bytes& other);
  void compareWithRecorded(StepIndex i, LaunchHash& hash);
  void takeDumps(uint32_t launch);
  void waitForItsTime(const ReplayStep& step);
  void problem(StepIndex step, std::string text);
  bool pastTheEnd(const ReplayStep& step) const { return step.launch > settings_.until_launch; }

  const ReplayPlan& plan_;
  RecordingReader& reader_;
  Executor& executor_;
  const RunSettings& settings_;
  RunProgress* progress_;
  RunResult result_;
  std::vector<bool> needed_;
  int64_t began_ns_ = 0;
  int64_t recorded_begin_ns_ = 0;
  StepMode mode_ = StepMode::kAsRecorded;
};

void Run::problem(StepIndex step, std::string text) {
  ++result_.problem_count;
  if (result_.problems.size() < RunResult::kMostNamed) {
    result_.problems.push_back({step, std::move(text)});
  }
}

std::vector<bool> Run::wanted() const {
  if (!settings_.steps.empty()) return settings_.steps;
  std::vector<bool> wanted(plan_.steps().size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const ReplayStep& step = plan_.step(static_cast<StepIndex>(i));
    if (!isCommand(step)) continue;
    const bool of_queue = settings_.queue == 0 ||
                          (step.queue != 0 && plan_.object(step.queue).ordinal == settings_.queue);
    // What comes after the last launch and before the next belongs to it.
    const bool in_range =
        settings_.ranges.empty() ||
        std::any_of(settings_.ranges.begin(), settings_.ranges.end(), [&](const LaunchRange& r) {
          return step.launch >= r.first && step.launch <= r.last;
        });
    wanted[i] = of_queue && in_range;
  }
  return wanted;
}

void Run::waitForItsTime(const ReplayStep& step) {
  const double after =
      static_cast<double>(step.header.start_ns - recorded_begin_ns_) / settings_.speed;
  constexpr double kLongest = 4e18;  // --speed may be as small as one likes
  const auto since = static_cast<int64_t>(std::clamp(after, 0.0, kLongest));
  if (executor_.holdUntil(since)) return;
  const int64_t at = began_ns_ + since;
  timespec when{};
  when.tv_sec = static_cast<time_t>(at / 1'000'000'000);
  when.tv_nsec = at % 1'000'000'000;
  if (at > monotonicNs()) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

void Run::perform(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  if (!needed_.empty() && !needed_[i]) {
    ++result_.skipped;
    return;
  }
  if (progress_ != nullptr) {
    progress_->since_ns.store(monotonicNs(), std::memory_order_relaxed);
    progress_->step.store(i, std::memory_order_relaxed);
  }
  if (settings_.order == ReplayOrder::kTiming) waitForItsTime(step);
  const bool builds = step.kind() == CommandKind::kBuildProgram;
  const int64_t before = builds ? monotonicNs() : 0;
  const bool hashes = settings_.hash_launches && step.kind() == CommandKind::kLaunch &&
                      step.header.result == 0 && step.launch >= settings_.hash_from;
  if (hashes) {
    hashLaunch(i);
  } else {
    performAlone(i);
  }
  if (builds) result_.building_ns += monotonicNs() - before;
  if (progress_ != nullptr) progress_->steps_done.fetch_add(1, std::memory_order_relaxed);
  if (step.kind() == CommandKind::kLaunch) {
    if (progress_ != nullptr)
      progress_->launches_done.store(step.launch, std::memory_order_relaxed);
    if (settings_.order != ReplayOrder::kRandom) takeDumps(step.launch);
  }
}

void Run::performAlone(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  StepOutcome outcome = executor_.perform(i, mode_);
  if (!outcome.executed) {
    // Those that stand for no call are neither executed nor skipped.
    const bool made_up = (step.header.flags & command_flags::kMadeUp) != 0 ||
                         step.kind() == CommandKind::kDone || step.kind() == CommandKind::kDevice ||
                         step.kind() == CommandKind::kRangeEdge ||
                         step.kind() == CommandKind::kSnapshot || step.kind() == CommandKind::kEnd;
    if (!made_up && outcome.simulated) {
      ++result_.simulated;
      if (step.kind() == CommandKind::kLaunch) ++result_.launches;
    } else if (!made_up) {
      ++result_.skipped;
    }
  } else {
    ++result_.executed;
    if (step.kind() == CommandKind::kLaunch) ++result_.launches;
    // What a call that waited returned is in its Done.
    int32_t recorded = step.header.result;
    if ((step.header.flags & command_flags::kBegun) != 0 && step.done != kNoStep) {
      recorded = plan_.step(step.done).header.result;
    }
    if (outcome.result == recorded) {
      if (recorded != 0) ++result_.failed_alike;
    } else if (outcome.problem.empty()) {
      outcome.problem =
          fmt::format("returned {}, when it was recorded {}", outcome.result, recorded);
    }
  }
  if (!outcome.problem.empty()) problem(i, std::move(outcome.problem));
}

void Run::compareShown(StepIndex i) {
  const ReplayStep& step = plan_.step(i);
  if (step.of == kNoStep || (!needed_.empty() && !needed_[step.of])) return;
  const ReplayStep& command = plan_.step(step.of);
  const bool shows = command.kind() == CommandKind::kRead || command.kind() == CommandKind::kMap ||
                     (command.kind() == CommandKind::kSvmCopy && command.object == 0);
  Done done;
  if (!shows || !decode(step.fields, done)) return;
  const auto bytes = executor_.shown(step.of);
  if (!bytes) return;  // it was not executed, or failed; that was said
  if (done.content.bytes == 0 || !done.content.known() || done.content.bytes != bytes->size()) {
    ++result_.not_comparable;
    return;
  }
  compare(command, done, *bytes);
}

void Run::compare(const ReplayStep& command, const Done& done, ByteView bytes) {
  ++result_.shown;
  for (size_t chunk = 0; chunk < done.content.chunks.size(); ++chunk) {
    const size_t at = chunk * kChunkBytes;
    const ByteView part = bytes.subspan(at, std::min<size_t>(kChunkBytes, bytes.size() - at));
    if (hashOf(part) == done.content.chunks[chunk]) continue;
    ShownDifference difference;
    difference.step = static_cast<StepIndex>(&command - plan_.steps().data());
    difference.first_chunk = chunk;
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

/// Runs one launch alone, between two looks at its memory.
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
  performAlone(i);
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
  // What it left the first time is what the rest of the program goes on with.
  std::vector<std::pair<ObjectIndex, Bytes>> first;
  for (const auto& [memory, bytes] : before) {
    if (auto after = executor_.contents(memory)) first.emplace_back(memory, std::move(*after));
  }
  bool can_permute = true;
  for (uint32_t r = 0; r < settings_.repeats; ++r) {
    for (const auto& [memory, bytes] : before) (void)executor_.setContents(memory, bytes);
    StepOutcome outcome;
    bool permuted = can_permute && r % 2 == 0;
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
  DifferenceExample example{launch, one.first, {}, one.second, other};
  const StepIndex step = plan_.launch(launch);
  const std::span<const uint32_t> arguments = plan_.listOf(plan_.step(step));
  for (uint32_t a = 0; a < arguments.size() && example.argument_type.empty(); ++a) {
    if (arguments[a] != kNoStep && plan_.step(arguments[a]).other == one.first) {
      example.argument_type = executor_.argumentType(step, a);
    }
  }
  result_.examples.push_back(std::move(example));
}

void Run::compareWithRecorded(StepIndex i, LaunchHash& hash) {
  const uint64_t sequence = plan_.step(i).header.sequence;
  for (StepIndex s = i + 1; s < plan_.steps().size(); ++s) {
    const ReplayStep& step = plan_.step(s);
    Snapshot snapshot;
    if (step.kind() != CommandKind::kSnapshot || !decode(step.fields, snapshot) ||
        snapshot.after != sequence + 1) {
      if (step.kind() == CommandKind::kLaunch) break;
      continue;
    }
    for (const LaunchHash::Output& output : hash.outputs) {
      if (output.memory != step.object || !snapshot.content.known()) continue;
      hash.recorded = true;
      const auto& recorded = snapshot.content.chunks;
      if (!std::equal(output.chunks.begin(), output.chunks.end(), recorded.begin(),
                      recorded.end())) {
        hash.unlike_recorded.push_back(output);
      }
    }
  }
}

void Run::takeDumps(uint32_t launch) {
  for (const DumpRequest& request : settings_.dumps) {
    if (request.launch != launch) continue;
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
      result_.dumps.push_back({request, memory, std::move(*bytes)});
    } else {
      problem(plan_.launch(launch), bytes.error().toString());
    }
  }
}

RunResult Run::go() {
  result_.device = executor_.deviceName();
  result_.same_device = executor_.sameDevice();
  if (selects()) needed_ = stepsNeeded(plan_, wanted());
  if (!settings_.dumps.empty() || settings_.order == ReplayOrder::kRandom) executor_.keepObjects();
  const bool alone = settings_.order == ReplayOrder::kSerial ||
                     settings_.order == ReplayOrder::kRandom || settings_.hash_launches;
  mode_ = alone ? StepMode::kAlone : StepMode::kAsRecorded;
  began_ns_ = monotonicNs();
  if (!plan_.steps().empty()) recorded_begin_ns_ = plan_.step(0).header.start_ns;
  const auto count = static_cast<StepIndex>(plan_.steps().size());
  if (settings_.order != ReplayOrder::kRandom) {
    for (StepIndex i = 0; i < count && !pastTheEnd(plan_.step(i)); ++i) {
      if (plan_.step(i).kind() == CommandKind::kDone) {
        compareShown(i);
      } else {
        perform(i);
      }
    }
  } else {
    for (StepIndex i = 0; i < count; ++i) {
      const ReplayStep& step = plan_.step(i);
      if (!isCommand(step) && !hostWaits(step) && step.kind() != CommandKind::kDone) perform(i);
    }
    const StepDependencies dependencies = StepDependencies::of(plan_);
    result_.order = !settings_.given_order.empty() ? settings_.given_order
                    : settings_.late.empty() ? randomLegalOrder(plan_, dependencies, settings_.seed)
                                             : lateLegalOrder(plan_, dependencies, settings_.late);
    for (const StepIndex i : result_.order) {
      if (hostWaits(plan_.step(i)) && !isCommand(plan_.step(i))) continue;
      perform(i);
      if (plan_.step(i).done != kNoStep) compareShown(plan_.step(i).done);
    }
  }
  StepOutcome end = executor_.finish();
  if (!end.problem.empty()) problem(kNoStep, std::move(end.problem));
  result_.duration_ns = monotonicNs() - began_ns_;
  takeDumps(0);
  return std::move(result_);
}

}  // namespace

RunResult runPlan(const ReplayPlan& plan, RecordingReader& reader, Executor& executor,
                  const RunSettings& settings, RunProgress* progress) {
  return Run(plan, reader, executor, settings, progress).go();
}

}  // namespace tracesmith
