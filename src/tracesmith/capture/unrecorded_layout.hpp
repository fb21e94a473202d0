// SPDX-License-Identifier: Apache-2.0
// How an agent that cannot record its process says so: by the name of an empty file in the session
// directory, "PID.ERRNO.STEP.unrecorded".
#pragma once

#include <cstdint>

namespace tracesmith::arena {

/// What failed. The numbers are part of the file's name.
enum class ArmStep : uint8_t {
  kUnknown = 0,    // the name has no step
  kDirectory = 1,  // opening the session directory
  kFile = 2,       // making the arena's file in it
  kRoom = 3,       // reserving the file's blocks
  kMap = 4,        // mapping the file
  kForkPage = 5,   // memory for the number that tells a forked child from its parent
  kThreadKey = 6,  // pthread_key_create()
  kDamaged = 7,    // later: a file of its was cut short, or its disk has no room for a page
};

/// What the process could not do, after "process 12 could not "; and what to try.
constexpr const char* failureOf(ArmStep step) {
  switch (step) {
    case ArmStep::kDirectory:
      return "open the session directory";
    case ArmStep::kFile:
      return "make a file in the session directory";
    case ArmStep::kMap:
      return "map its rings";
    case ArmStep::kForkPage:
      return "get a page of memory";
    case ArmStep::kThreadKey:
      return "get a key for thread-specific data";
    case ArmStep::kDamaged:
      return "write to its rings any more";
    case ArmStep::kUnknown:
    case ArmStep::kRoom:
      break;
  }
  return "make its rings";
}
/// What is missing of it.
constexpr const char* consequenceOf(ArmStep step) {
  return step == ArmStep::kDamaged ? "what it did from then on was not recorded"
                                   : "nothing of it was recorded";
}
constexpr const char* adviceOn(ArmStep step) {
  switch (step) {
    case ArmStep::kDirectory:
    case ArmStep::kFile:
      return "the program must see and be allowed to write the folder of the output: give -o a "
             "path that it sees under the same name";
    case ArmStep::kForkPage:
    case ArmStep::kThreadKey:
      return "the program uses up that resource itself";
    case ArmStep::kDamaged:
      return "its file was cut short, or the disk is full: give -o a path on another disk";
    default:
      return "smaller ones: -b BYTES";
  }
}

}  // namespace tracesmith::arena
