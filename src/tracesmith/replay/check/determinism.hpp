// SPDX-License-Identifier: Apache-2.0
// Finds the launches of a recording that do not always do the same, and says why.
//
// A launch diverges when it leaves something else from equal inputs, or when its inputs depend on
// an order that nothing in the recording fixes. Each launch is therefore run often from the same
// inputs, with several settings of the driver; whole replays are run in legal orders drawn at
// random; two replays are run beside each other that differ in the content of memory nobody has
// written. docs/determinism.md describes what each finds and what it cannot find.
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
  /// How often each launch is run from equal inputs; 0: until one that differs in 3 of 10 runs is
  /// missed with a chance below 10^-4 (26 times), at least 10.
  uint32_t runs = 0;
  uint64_t seed = 1;
  double step_limit_s = 60;
  /// What is being done, and how much of it is done (0 to 1).
  std::function<void(const std::string& what, double share)> progress;
};

enum class DivergenceCause : uint8_t {
  kScheduleDependent,       ///< the order of work-items, which the device chooses
  kAtomicOrder,             ///< the same, by atomics: the order of their operations
  kUninitialisedRead,       ///< memory that nobody had written
  kMissingSynchronisation,  ///< the order of two commands, which nothing fixes
  kCompilerDifference,      ///< every replay agrees, and not with the recording
  kMissingData,             ///< the recording lacks what it was given
};
const char* toString(DivergenceCause cause);

struct Divergence {
  StepIndex step = kNoStep;  ///< the launch; a read of the host where no launch is to blame
  DivergenceCause cause = DivergenceCause::kScheduleDependent;
  ObjectIndex memory = 0;
  uint32_t argument = UINT32_MAX;  ///< of the launch, that names `memory`
  std::string argument_type;
  std::string evidence;
  StepIndex other = kNoStep;  ///< of a missing synchronisation: the command it is not ordered with
  std::optional<TypedDifference> difference;
};

struct DeterminismReport {
  std::string device;
  bool same_device = false;
  std::vector<Divergence> divergences;  ///< in the order of the recording
  uint32_t launches = 0;                ///< that were checked
  uint32_t runs = 0;                    ///< of each launch from equal inputs, at least
  bool complete = true;                 ///< no replay died or hung
  uint32_t orders = 0;                  ///< legal orders tried
  uint32_t replays = 0;                 ///< of the whole recording, those orders included
  /// A launch that differs from itself in this share of its runs is missed with a chance of 10^-4.
  double share_found = 0;
  uint64_t shown = 0;  ///< read-backs compared with the recording
  uint64_t shown_equal = 0;
  std::vector<std::string> notes;  ///< what could not be checked, and why
};

/// kNotFound: no device. Anything that happened during replays is in the report.
Result<DeterminismReport> checkDeterminism(const ReplayPlan& plan, RecordingReader& reader,
                                           const DeterminismOptions& options);

}  // namespace tracesmith
