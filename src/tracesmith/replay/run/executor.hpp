// SPDX-License-Identifier: Apache-2.0
// Interface that executes the steps of a plan; one implementation per kind of device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracesmith/recording/recording_file.hpp"
#include "tracesmith/replay/plan/replay_plan.hpp"

namespace tracesmith {

struct ExecutorOptions {
  /// Device: its number in the order of `tracesmith devices` for this backend, or a part of its
  /// name or of its platform's name. Empty: the recorded one by name, else one of the same type,
  /// else the first.
  std::string device;
  /// Initial content of memory without recorded content: false: zeros, as when it was recorded;
  /// true: noise that differs between objects.
  bool noise = false;
  /// Options added to those of every build.
  std::string build_options;
  /// Folder with the files that programs include; empty: builds find them at their original paths.
  std::string include_folder;
  /// Sends all non-blocking reads without recorded content to one destination, like a program that
  /// reads repeatedly and then waits. Their data cannot be examined: shown() returns an empty view
  /// for them.
  bool drops_unrecorded_reads = false;
};

/// How a step is ordered on the device.
enum class StepMode : uint8_t {
  kAsRecorded,  ///< in its recorded queue, with its recorded wait list, and nothing else
  kAlone,       ///< everything before it has ended, and it has ended on return
  /// As recorded, but the host does not wait: all later commands wait on the device for what the
  /// host waited for.
  kConcurrent,
};

struct StepOutcome {
  bool executed = false;  ///< the call was issued; false: see `problem`
  /// Instead of executing, the executor determined the time (simulated_executor.hpp).
  bool simulated = false;
  int64_t begin_ns = 0;  ///< for a simulated step, on the virtual clock
  int64_t end_ns = 0;
  int32_t result = 0;   ///< its return code
  std::string problem;  ///< why the call could not be issued, or another failure
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Issues the call of a step. Steps that create objects come before those that use them.
  virtual StepOutcome perform(StepIndex step, StepMode mode) = 0;
  /// Replaces a skipped command: steps that waited for it wait for what it waited for.
  virtual void skipCommand(StepIndex /*command*/) {}
  /// Runs a launch alone, with its work-groups in a random order, one part after the other; any
  /// such order is legal. Seed 0: from the last to the first. A kernel that queries its group or
  /// the global size is recompiled so that it gets the values of the whole launch. Returns not
  /// executed, with the reason, if this is impossible or cannot be determined.
  virtual StepOutcome performPermuted(StepIndex launch, uint64_t seed) = 0;
  /// Waits until all queues are empty.
  virtual StepOutcome finish() = 0;
  /// For kConcurrent: waits for the oldest command that may still be running. False: all have
  /// ended.
  virtual bool waitForOldest() { return false; }
  /// Waits for a read or map and returns the data it showed to the host. Memory mapped to be
  /// overwritten shows nothing. The view is valid until the step after the next call. Empty if the
  /// read's data is not kept (ExecutorOptions::drops_unrecorded_reads).
  virtual Result<ByteView> shown(StepIndex step) = 0;

  /// Returns the whole content of a memory object. All earlier commands must have ended.
  virtual Result<Bytes> contents(ObjectIndex memory) = 0;
  virtual Status setContents(ObjectIndex memory, ByteView bytes) = 0;
  /// True while the object exists: created and not released.
  virtual bool has(ObjectIndex object) const = 0;
  /// From now on keeps objects that the program releases, so that they can be examined later.
  virtual void keepObjects() = 0;

  /// The type of a launch's argument as written in its source ("float*"); "" if the driver does not
  /// tell.
  virtual std::string argumentType(StepIndex launch, uint32_t argument) const = 0;

  /// "Portable Computing Language: pthread-…"; valid after a device was chosen.
  virtual std::string deviceName() const = 0;
  /// True if the device is that of the recording, by name and driver version.
  virtual bool sameDevice() const = 0;

  /// Delays calls until this time, in ns since the start of the replay. False: the caller has to
  /// wait until then, because this executor has no clock of its own.
  virtual bool holdUntil(int64_t /*since_begin_ns*/) { return false; }
};

/// argumentType() of the first argument that names this memory object; "": none or unknown.
std::string typeOfArgumentFor(const ReplayPlan& plan, const Executor& executor, StepIndex launch,
                              ObjectIndex memory);

/// Creates an executor for OpenCL, using the installed loader. kNotFound says what is missing and
/// where it was looked for. `plan` and `reader` must outlive it.
Result<std::unique_ptr<Executor>> openClExecutor(const ReplayPlan& plan, RecordingReader& reader,
                                                 const ExecutorOptions& options);

}  // namespace tracesmith
