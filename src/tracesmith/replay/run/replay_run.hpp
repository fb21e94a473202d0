// SPDX-License-Identifier: Apache-2.0
// One replay of a plan by an executor, in this process: the order, the part that is replayed, and
// the comparisons made.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/replay/plan/replay_plan.hpp"
#include "tracesmith/replay/plan/unordered_pairs.hpp"
#include "tracesmith/replay/run/executor.hpp"

namespace tracesmith {

enum class ReplayOrder : uint8_t {
  kRecorded,    ///< as recorded, as fast as the device allows
  kSerial,      ///< as recorded, each command ends before the next starts
  kConcurrent,  ///< as recorded, but the device waits where the host did
  kTiming,      ///< as recorded, no call before its recorded time
  kRandom,      ///< one command after the other, in a random legal order
};

/// Launches by their numbers, from 1, both included.
struct LaunchRange {
  uint32_t first = 1;
  uint32_t last = UINT32_MAX;
};

struct DumpRequest {
  uint32_t memory = 0;  ///< number of the buffer, image or shared memory (its ordinal)
  uint32_t launch = 0;  ///< dump after this launch; 0: at the end
  bool before = false;  ///< dump before the launch instead
};

struct RunSettings {
  ReplayOrder order = ReplayOrder::kRecorded;
  uint64_t seed = 0;
  /// With kRandom, instead of a random order: these steps as late as legal (lateLegalOrder()).
  std::vector<uint32_t> late;
  /// With kRandom, the exact order: all steps that move, in an order that must be legal.
  std::vector<StepIndex> given_order;
  /// With a given order: records the content of these objects (second) after this many of its steps
  /// (first).
  std::set<std::pair<uint32_t, ObjectIndex>> observation_points;
  /// Most bytes of observed content to keep; the rest is kept as hashes only.
  uint64_t observed_bytes = 0;
  double speed = 1;  ///< for kTiming
  /// The selection. What it needs is replayed as well; the rest is skipped.
  std::vector<LaunchRange> ranges;  ///< empty: all launches
  std::vector<bool> steps;          ///< replaces `ranges` and `queue`: by step; empty: those apply
  std::optional<uint32_t> queue;    ///< number of the queue whose commands are selected; empty: all
  uint32_t until_launch = UINT32_MAX;  ///< last launch to replay
  std::vector<DumpRequest> dumps;
  /// Hashes every memory object that a launch may write, after each launch (kSerial and kRandom).
  bool hash_launches = false;
  /// Compares what each launch left with the recorded hashes (--launch-hashes), where there are
  /// any.
  bool compare_launches = false;
  /// How often each launch is run again from equal inputs (with hash_launches).
  uint32_t repeats = 0;
  /// Launches before this one are not hashed or repeated.
  uint32_t hash_from = 1;
};

/// For each step: whether `settings` select it, or a selected step needs it.
std::vector<bool> stepsChosen(const ReplayPlan& plan, const RunSettings& settings);

/// Position of a run; read by the process that supervises it.
struct RunProgress {
  std::atomic<uint32_t> step{kNoStep};  ///< step being performed or waited for
  std::atomic<uint64_t> steps_done{0};
  /// CLOCK_MONOTONIC: start time of `step`, or of its current repetition
  std::atomic<int64_t> since_ns{0};
  std::atomic<uint32_t> launches_done{0};
};

/// A step whose outcome differs from the recording.
struct StepProblem {
  StepIndex step = kNoStep;
  std::string text;
};

/// Data shown to the host that differs from the recording.
struct ShownDifference {
  StepIndex step = kNoStep;          ///< the read or map
  uint64_t first_chunk = 0;          ///< that differs, of kChunkBytes
  uint64_t first_byte = UINT64_MAX;  ///< if the recording kept its bytes (--keep-outputs)
  uint64_t differing_bytes = 0;      ///< if the recording kept its bytes
};

/// Output of a launch that differs from its recorded hash.
struct LaunchDifference {
  StepIndex step = kNoStep;
  ObjectIndex memory = 0;
  uint64_t first_chunk = 0;  ///< that differs, of kChunkBytes
};

/// Two different contents of the same memory after the same launch with the same input.
struct DifferenceExample {
  uint32_t launch = 0;
  ObjectIndex memory = 0;
  std::string argument_type;  ///< type of the argument that names it ("float*"); "" if unknown
  Bytes one;
  Bytes other;
};

/// A result that depends on uninitialised memory. Found by running two replays side by side, step
/// by step, in which such memory holds different bytes.
struct UninitialisedUse {
  StepIndex step = kNoStep;  ///< a launch, a copy, or a read by the host
  ObjectIndex memory = 0;    ///< the memory that holds its result
  uint64_t first_byte = 0;
  uint64_t bytes = 0;
};

/// Input and output of a launch, as hashes.
struct LaunchHash {
  uint32_t launch = 0;
  uint64_t input = 0;  ///< hash of all memory that its arguments name, before the launch
  struct Output {
    ObjectIndex memory = 0;
    std::vector<recording::ContentHash> chunks;
    friend bool operator==(const Output&, const Output&) = default;
  };
  std::vector<Output> outputs;
  /// Outputs that differed when the launch ran again from the same input.
  std::vector<Output> repeats;
  /// Outputs that differed when its work-groups ran in other orders; number of such runs.
  std::vector<Output> permuted;
  uint32_t permuted_runs = 0;
  uint32_t runs_again = 0;  ///< repetitions of both kinds
  bool recorded = false;    ///< the recording has hashes of this launch (--launch-hashes)
  std::vector<Output> unlike_recorded;
};

/// Hash of the data that a read or map showed.
struct ShownHash {
  StepIndex step = kNoStep;
  uint64_t hash = 0;
};

/// Hash of a memory object's content at the end.
struct MemoryHash {
  ObjectIndex memory = 0;
  uint64_t hash = 0;
};

/// Result of running two commands in both orders from the same memory (pair_run.hpp).
struct PairOutcome {
  UnorderedPair pair;
  bool tried = false;     ///< false: one of them could not be run
  bool unsteady = false;  ///< two runs in the same order differed as well
  uint64_t bytes = 0;     ///< differing bytes in the first object (or read) that differs
  uint64_t first_byte = 0;
  ObjectIndex memory = 0;        ///< the object that differs
  StepIndex shown_by = kNoStep;  ///< the read by the host that showed the difference
};

/// Content observed in a given order: data shown to the host, or an object recorded because of
/// RunSettings::looks.
struct Observation {
  StepIndex step = kNoStep;  ///< the read or map; kNoStep: an entry of `looks`
  uint32_t after = 0;        ///< for an entry of `looks`: number of steps executed before it
  ObjectIndex memory = 0;
  std::vector<recording::ContentHash> chunks;
  Bytes bytes;  ///< empty if observed_bytes was exhausted
};

struct Dump {
  DumpRequest request;
  ObjectIndex memory = 0;
  Bytes bytes;
  /// Type of the launch's argument that names it ("float*"); "" if there is none or it is unknown.
  std::string argument_type;
};

struct RunResult {
  std::string device;
  bool same_device = false;
  uint64_t executed = 0;      ///< steps whose call was issued, each counted once
  uint64_t failed_alike = 0;  ///< of those: failed as in the recording
  uint64_t skipped = 0;       ///< not selected, or not possible (see problems)
  uint64_t simulated = 0;     ///< steps of which only the time was determined, each counted once
  uint64_t launches = 0;      ///< launches executed or simulated
  uint64_t shown = 0;         ///< reads and maps compared
  uint64_t shown_equal = 0;
  uint64_t not_comparable = 0;     ///< reads without a recorded hash
  uint64_t launches_compared = 0;  ///< launches compared with their recorded hashes
  uint64_t launches_equal = 0;
  std::vector<ShownDifference> differences;  ///< at most kMostNamed of each
  std::vector<LaunchDifference> launch_differences;
  std::vector<StepProblem> problems;
  uint64_t problem_count = 0;
  std::vector<LaunchHash> launch_hashes;
  std::vector<DifferenceExample> examples;  ///< the first of each launch; at most kMostExamples
  std::vector<UninitialisedUse> uninitialised;
  std::vector<PairOutcome> pairs;
  std::vector<ShownHash> shown_hashes;  ///< with hash_launches
  std::vector<MemoryHash> left;         ///< with hash_launches: content at the end
  std::vector<StepIndex> order;         ///< for kRandom: the order of its commands
  std::vector<Observation> seen;        ///< for a given order
  std::vector<StepIndex> not_executed;  ///< for a given order: commands whose call was not issued
  std::vector<Dump> dumps;
  int64_t duration_ns = 0;  ///< of all calls, including program builds
  int64_t building_ns = 0;  ///< of program builds
  static constexpr size_t kMostNamed = 100;
  static constexpr size_t kMostExamples = 8;
  static constexpr size_t kMostExampleBytes = 64u << 20;
};

/// `progress` may be nullptr.
RunResult runPlan(const ReplayPlan& plan, RecordingReader& reader, Executor& executor,
                  const RunSettings& settings, RunProgress* progress);

}  // namespace tracesmith
