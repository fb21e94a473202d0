// SPDX-License-Identifier: Apache-2.0
// A recording as steps that wait for each other and use memory: what its handles meant when each
// call was made, which bytes each command touches, and how sure that is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith::races {

/// What is told of a step; by StepId.
struct RecordedStep {
  uint64_t sequence = 0;  ///< of its command
  int64_t start_ns = 0;   ///< of the call
  uint64_t launch = 0;    ///< which launch of the process, from 1; 0: none
  recording::CommandKind kind = recording::CommandKind::kNone;
};

enum class AllocationKind : uint8_t { kHostMemory, kBuffer, kImage, kShared };
struct RecordedAllocation {
  AllocationKind kind = AllocationKind::kBuffer;
  uint32_t number = 0;    ///< among those of its kind, from 1
  uint64_t bytes = 0;     ///< of an image: pixels, as in what is said of its parts
  uint64_t sequence = 0;  ///< of the command that made it
  recording::Handle handle = 0;
};

struct RecordedProgram {
  Program program;
  std::vector<RecordedStep> steps;
  std::vector<std::string> labels;  ///< of steps: names of kernels, and what others are
  std::vector<RecordedAllocation> allocations;
  std::vector<uint32_t> threads;  ///< the kernel's numbers
  uint64_t launches = 0;
  std::vector<std::string> guessed;  ///< kernels of which it is not known what they read and write
  uint64_t unknown_events = 0;       ///< waits for events that nothing in the recording made
  uint64_t unsupported = 0;          ///< calls that are not recorded as what they are
  bool damaged = false;              ///< it ends within a command
};

/// `content` gives the bytes of a payload, for the sources of programs.
RecordedProgram programOfRecording(
    ByteView commands, const std::function<Result<Bytes>(const recording::Payload&)>& content);

}  // namespace tracesmith::races
