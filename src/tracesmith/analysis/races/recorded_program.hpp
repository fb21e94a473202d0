// SPDX-License-Identifier: Apache-2.0
// Converts a recording into steps that wait for each other and use memory: resolves handles at each
// call, and determines which bytes each command touches and how certain that is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::races {

/// Information on a step for reports; by StepId.
struct RecordedStep {
  uint64_t sequence = 0;  ///< sequence number of its command
  int64_t start_ns = 0;   ///< start of the call
  uint64_t launch = 0;    ///< launch number within the process, from 1; 0: not a launch
  recording::CommandKind kind = recording::CommandKind::kNone;
};

enum class AllocationKind : uint8_t { kHostMemory, kBuffer, kImage, kShared };
struct RecordedAllocation {
  AllocationKind kind = AllocationKind::kBuffer;
  uint32_t number = 0;    ///< number among allocations of its kind, from 1
  uint64_t bytes = 0;     ///< size; in pixels for an image, as for its parts
  uint64_t sequence = 0;  ///< sequence number of the command that created it
  recording::Handle handle = 0;
};

struct RecordedProgram {
  Program program;
  std::vector<RecordedStep> steps;
  /// Labels of steps: kernel names, and descriptions of other steps.
  std::vector<std::string> labels;
  std::vector<RecordedAllocation> allocations;
  std::vector<uint32_t> threads;  ///< kernel thread ids (tid)
  uint64_t launches = 0;
  std::vector<std::string> guessed;  ///< kernels whose reads and writes are unknown
  uint64_t unknown_events = 0;       ///< waits for events that nothing in the recording creates
  uint64_t unsupported = 0;          ///< calls recorded only as unsupported
  bool damaged = false;              ///< the recording ends within a command
};

/// `content` returns the bytes of a payload, for the sources of programs.
RecordedProgram programOfRecording(
    ByteView commands, const std::function<Result<Bytes>(const recording::Payload&)>& content);

}  // namespace tracesmith::races
