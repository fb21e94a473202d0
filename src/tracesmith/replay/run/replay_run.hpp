// SPDX-License-Identifier: Apache-2.0
// One replay of a plan by an executor, in this process: in which order, how much of it, and what is
// compared on the way.
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
  kRecorded,    ///< as recorded, as fast as the device goes
  kSerial,      ///< as recorded, each command over before the next begins
  kConcurrent,  ///< as recorded, but it is the device that waits where the host did
  kTiming,      ///< as recorded, no call before the time that it had
  kRandom,      ///< one command after the other, in a legal order drawn at random
};

/// Launches by their numbers, from 1, both included.
struct LaunchRange {
  uint32_t first = 1;
  uint32_t last = UINT32_MAX;
};

struct DumpRequest {
  uint32_t memory = 0;  ///< number of the buffer, image or shared memory (its ordinal)
  uint32_t launch = 0;  ///< after which; 0: at the end
};

struct RunSettings {
  ReplayOrder order = ReplayOrder::kRecorded;
  uint64_t seed = 0;
  /// With kRandom, instead of chance: these steps as late as is legal (lateLegalOrder()).
  std::vector<uint32_t> late;
  /// The same, with all that it decides: an order of all steps that move, which has to be legal.
  std::vector<StepIndex> given_order;
  /// With a given order: after so many of its steps looks at these objects.
  std::set<std::pair<uint32_t, ObjectIndex>> looks;
  uint64_t seen_bytes = 0;  ///< so much of what is seen is kept; the rest as hashes alone
  double speed = 1;         ///< of kTiming
  /// What is wanted; what it needs is replayed as well, the rest is skipped.
  std::vector<LaunchRange> ranges;  ///< none: all
  std::vector<bool> steps;          ///< in place of both: by step; none: they count
  std::optional<uint32_t> queue;    ///< number of the queue whose commands are wanted; empty: all
  uint32_t until_launch = UINT32_MAX;  ///< ends after it
  std::vector<DumpRequest> dumps;
  /// Hashes every memory object that a launch may write, after each launch (kSerial and kRandom).
  bool hash_launches = false;
  /// Compares what each launch left with the recorded hashes (--launch-hashes), where there are
  /// any.
  bool compare_launches = false;
  /// So often each launch is run again from equal inputs (with hash_launches).
  uint32_t repeats = 0;
  /// Of launches before this one nothing is hashed or repeated.
  uint32_t hash_from = 1;
};

/// For each step whether `settings` choose it, or a chosen one needs it.
std::vector<bool> stepsChosen(const ReplayPlan& plan, const RunSettings& settings);

/// Where a run is: read by the process that watches over it.
struct RunProgress {
  std::atomic<uint32_t> step{kNoStep};  ///< being performed, or waited for
  std::atomic<uint64_t> steps_done{0};
  std::atomic<int64_t> since_ns{0};  ///< CLOCK_MONOTONIC: when `step`, or running it again, began
  std::atomic<uint32_t> launches_done{0};
};

/// A step that did not go as it was recorded.
struct StepProblem {
  StepIndex step = kNoStep;
  std::string text;
};

/// Something shown to the host that is not what the recording says.
struct ShownDifference {
  StepIndex step = kNoStep;          ///< the read or map
  uint64_t first_chunk = 0;          ///< that differs, of kChunkBytes
  uint64_t first_byte = UINT64_MAX;  ///< where the recording kept its bytes (--keep-outputs)
  uint64_t differing_bytes = 0;      ///< the same
};

/// Memory that a launch left otherwise than its recorded hash says.
struct LaunchDifference {
  StepIndex step = kNoStep;
  ObjectIndex memory = 0;
  uint64_t first_chunk = 0;  ///< that differs, of kChunkBytes
};

/// The same memory after the same launch of the same input, twice.
struct DifferenceExample {
  uint32_t launch = 0;
  ObjectIndex memory = 0;
  std::string argument_type;  ///< of the argument that names it ("float*"); "" where unknown
  Bytes one;
  Bytes other;
};

/// What depends on the content of memory that nobody had written: found by two replays, step by
/// step beside each other, in which such memory holds different bytes.
struct UninitialisedUse {
  StepIndex step = kNoStep;  ///< a launch, a copy, or a read by the host
  ObjectIndex memory = 0;    ///< where what it computed lies
  uint64_t first_byte = 0;
  uint64_t bytes = 0;
};

/// What a launch was given and what it left, as hashes.
struct LaunchHash {
  uint32_t launch = 0;
  uint64_t input = 0;  ///< of all that its arguments name, before it
  struct Output {
    ObjectIndex memory = 0;
    std::vector<recording::ContentHash> chunks;
    friend bool operator==(const Output&, const Output&) = default;
  };
  std::vector<Output> outputs;
  /// Of running it again from the same input: those outputs that came out otherwise.
  std::vector<Output> repeats;
  /// The same with its work-groups in other orders; how often it was run so.
  std::vector<Output> permuted;
  uint32_t permuted_runs = 0;
  uint32_t runs_again = 0;  ///< of both kinds
  bool recorded = false;    ///< the recording has hashes of it (--launch-hashes)
  std::vector<Output> unlike_recorded;
};

/// What a read or map showed, as a hash.
struct ShownHash {
  StepIndex step = kNoStep;
  uint64_t hash = 0;
};

/// What a memory object held at the end, as a hash.
struct MemoryHash {
  ObjectIndex memory = 0;
  uint64_t hash = 0;
};

/// Of running two commands in both orders from the same memory (pair_run.hpp).
struct PairOutcome {
  UnorderedPair pair;
  bool tried = false;     ///< false: one of them could not be run
  bool unsteady = false;  ///< the same order twice was not the same either
  uint64_t bytes = 0;     ///< that came out otherwise, of the first object (or read) with any
  uint64_t first_byte = 0;
  ObjectIndex memory = 0;        ///< that object
  StepIndex shown_by = kNoStep;  ///< the read by the host that showed them
};

/// In a given order: what the host was shown, or what a look found.
struct Seen {
  StepIndex step = kNoStep;  ///< the read or map; kNoStep: a look
  uint32_t after = 0;        ///< of a look: so many steps of the order
  ObjectIndex memory = 0;
  std::vector<recording::ContentHash> chunks;
  Bytes bytes;  ///< empty where there was no room
};

struct Dump {
  DumpRequest request;
  ObjectIndex memory = 0;
  Bytes bytes;
};

struct RunResult {
  std::string device;
  bool same_device = false;
  uint64_t executed = 0;      ///< steps whose call was made, each once
  uint64_t failed_alike = 0;  ///< of those: failed, as when they were recorded
  uint64_t skipped = 0;       ///< not wanted, or not possible (see problems)
  uint64_t simulated = 0;     ///< of which only the time was found, each once
  uint64_t launches = 0;      ///< of those executed or simulated
  uint64_t shown = 0;         ///< reads and maps that were compared
  uint64_t shown_equal = 0;
  uint64_t not_comparable = 0;     ///< reads whose recorded hash is not there
  uint64_t launches_compared = 0;  ///< with their recorded hashes
  uint64_t launches_equal = 0;
  std::vector<ShownDifference> differences;  ///< at most kMostNamed of each
  std::vector<LaunchDifference> launch_differences;
  std::vector<StepProblem> problems;
  uint64_t problem_count = 0;
  std::vector<LaunchHash> launch_hashes;
  std::vector<DifferenceExample> examples;  ///< the first of each launch, at most kMostExamples
  std::vector<UninitialisedUse> uninitialised;
  std::vector<PairOutcome> pairs;
  std::vector<ShownHash> shown_hashes;  ///< with hash_launches
  std::vector<MemoryHash> left;         ///< the same: what is there at the end
  std::vector<StepIndex> order;         ///< of kRandom: that of its commands
  std::vector<Seen> seen;               ///< of a given order
  std::vector<StepIndex> not_executed;  ///< of a given order: commands whose call was not made
  std::vector<Dump> dumps;
  int64_t duration_ns = 0;  ///< of all calls, building programs included
  int64_t building_ns = 0;  ///< of building programs
  static constexpr size_t kMostNamed = 100;
  static constexpr size_t kMostExamples = 8;
  static constexpr size_t kMostExampleBytes = 64u << 20;
};

/// `progress` may be nullptr.
RunResult runPlan(const ReplayPlan& plan, RecordingReader& reader, Executor& executor,
                  const RunSettings& settings, RunProgress* progress);

}  // namespace tracesmith
