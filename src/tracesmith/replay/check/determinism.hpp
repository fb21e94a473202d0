// SPDX-License-Identifier: Apache-2.0
// Finds the launches of a recording whose results vary, and says why.
//
// A launch diverges when it produces different output from equal inputs, or when its inputs depend
// on an order that nothing in the recording fixes. Three checks look for this:
// - Each launch is run repeatedly from the same inputs, with several settings of the driver.
// - The whole recording is replayed in legal orders drawn at random.
// - Two replays run side by side that differ only in the content of uninitialised memory.
//
// docs/determinism.md describes what each check finds and what it cannot find.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/replay/check/typed_difference.hpp"
#include "tracesmith/replay/run/replay_child.hpp"

namespace tracesmith {

struct DeterminismOptions {
  ExecutorOptions executor;
  /// Number of runs of each launch from equal inputs. 0: enough that a launch that differs in 3 of
  /// 10 runs is missed with a probability below 10^-4 (26 runs). At least 10.
  uint32_t runs = 0;
  uint64_t seed = 1;
  double step_limit_s = 60;
  /// Called with the current activity and its progress (0 to 1).
  std::function<void(const std::string& what, double share)> progress;
};

enum class DivergenceCause : uint8_t {
  kScheduleDependent,       ///< depends on the order of work-items, which the device chooses
  kAtomicOrder,             ///< depends on the order of atomic operations
  kUninitialisedRead,       ///< read uninitialised memory
  kMissingSynchronisation,  ///< depends on the order of two commands, which nothing fixes
  kCompilerDifference,      ///< all replays agree with each other but not with the recording
  kMissingData,             ///< the recording lacks data that the launch used
};
const char* toString(DivergenceCause cause);

struct Divergence {
  StepIndex step = kNoStep;  ///< the launch; a read by the host where no launch caused it
  DivergenceCause cause = DivergenceCause::kScheduleDependent;
  ObjectIndex memory = 0;
  uint32_t argument = UINT32_MAX;  ///< index of the launch's argument that names `memory`
  std::string argument_type;
  std::string evidence;
  /// For a missing synchronisation: the command that is not ordered with `step`.
  StepIndex other = kNoStep;
  std::optional<TypedDifference> difference;
};

struct DeterminismReport {
  std::string device;
  bool same_device = false;
  std::vector<Divergence> divergences;  ///< in the order of the recording
  uint32_t launches = 0;                ///< number of launches checked
  uint32_t runs = 0;                    ///< least number of runs of a launch from equal inputs
  bool complete = true;                 ///< no replay died or hung
  uint32_t orders = 0;                  ///< legal orders tried
  uint32_t replays = 0;                 ///< replays of the whole recording, including `orders`
  /// A launch whose output differs in this share of its runs is missed with a probability of 10^-4.
  double share_found = 0;
  uint64_t shown = 0;  ///< read-backs compared with the recording
  uint64_t shown_equal = 0;
  std::vector<std::string> notes;  ///< what could not be checked, and why
};

/// kNotFound: no device. Failures during replays are in the report.
Result<DeterminismReport> checkDeterminism(const ReplayPlan& plan, RecordingReader& reader,
                                           const DeterminismOptions& options);

}  // namespace tracesmith
