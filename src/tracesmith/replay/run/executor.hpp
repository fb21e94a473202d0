// SPDX-License-Identifier: Apache-2.0
// What executes the steps of a plan on a device: one for each kind of device, behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracesmith/recording/recording_file.hpp"
#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

struct ExecutorOptions {
  /// Which device: its number in `tracesmith devices`' order of this backend, or a part of its name
  /// or platform's; empty: the recorded one by name, else one of the same type, else the first.
  std::string device;
  /// What memory without content holds: zeros, as it was recorded, or noise that is another in each
  /// object.
  bool noise = false;
  /// Options added to those of every build.
  std::string build_options;
  /// Where files that programs include are laid out; empty: builds find them where they lay.
  std::string include_folder;
  /// Reads that do not wait, and whose content the recording does not have, all go to one place, as
  /// those of a program do that reads again and again and then waits. Nobody can look at them:
  /// shown() of them is empty.
  bool drops_unrecorded_reads = false;
};

/// How a step is brought into the device's order.
enum class StepMode : uint8_t {
  kAsRecorded,  ///< into the queue that it was in, waiting for what it waited for; nothing else
  kAlone,       ///< all before it is over, and it is over on return
  /// As recorded, but nobody waits here: what the host waited for, all later commands wait for on
  /// the device.
  kConcurrent,
};

struct StepOutcome {
  bool executed = false;  ///< the call was made; false: see `problem`
  /// In place of that: it was found out how long it would take (simulated_executor.hpp).
  bool simulated = false;
  int64_t begin_ns = 0;  ///< of a simulated one, on the virtual clock
  int64_t end_ns = 0;
  int32_t result = 0;   ///< its return code
  std::string problem;  ///< why it could not be made, or what else went wrong
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Makes the call of a step. Steps that make objects come before those that use them.
  virtual StepOutcome perform(StepIndex step, StepMode mode) = 0;
  /// In place of a command that is left out: what waited for it waits for what it waited for.
  virtual void passOver(StepIndex /*command*/) {}
  /// Runs a launch alone, its work-groups in an order drawn at random, a part of them after the
  /// other: any such order is legal. Seed 0: from the last to the first. A kernel that asks for its
  /// group or the global size is compiled anew, so that it is told those of the whole launch. Not
  /// executed, with the reason, where that cannot be done or is not known.
  virtual StepOutcome performPermuted(StepIndex launch, uint64_t seed) = 0;
  /// Waits until all queues are empty.
  virtual StepOutcome finish() = 0;
  /// Of kConcurrent: waits for the oldest command that may not be over. False: all are.
  virtual bool waitForOldest() { return false; }
  /// What a read or map showed to the host: waits for it. What is mapped to be overwritten shows
  /// nothing. The view lives until the step after the next call.
  /// Empty: what was read is not looked at (ExecutorOptions::drops_unrecorded_reads).
  virtual Result<ByteView> shown(StepIndex step) = 0;

  /// The whole content of a memory object; all before it is over.
  virtual Result<Bytes> contents(ObjectIndex memory) = 0;
  virtual Status setContents(ObjectIndex memory, ByteView bytes) = 0;
  /// True while the object is there: made, and not given up.
  virtual bool has(ObjectIndex object) const = 0;
  /// From now on what the program gave up is kept, for those who look at it later.
  virtual void keepObjects() = 0;

  /// The type of a launch's argument as its source has it ("float*"); "" where the driver does not
  /// tell.
  virtual std::string argumentType(StepIndex launch, uint32_t argument) const = 0;

  /// "Portable Computing Language: pthread-…", once a device was chosen.
  virtual std::string deviceName() const = 0;
  /// True when it is the device of the recording, by name and driver version.
  virtual bool sameDevice() const = 0;

  /// No call before this time, in ns since the replay began. False: whoever calls has to wait for
  /// it, as all do that have no clock of their own.
  virtual bool holdUntil(int64_t /*since_begin_ns*/) { return false; }
};

/// argumentType() of the first argument that names this memory object; "": none, or not known.
std::string typeOfArgumentFor(const ReplayPlan& plan, const Executor& executor, StepIndex launch,
                              ObjectIndex memory);

/// OpenCL, by the loader that is installed. kNotFound says what is missing and where it was looked
/// for. `plan` and `reader` outlive it.
Result<std::unique_ptr<Executor>> openClExecutor(const ReplayPlan& plan, RecordingReader& reader,
                                                 const ExecutorOptions& options);

}  // namespace tracesmith
