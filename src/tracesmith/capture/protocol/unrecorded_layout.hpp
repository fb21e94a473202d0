// SPDX-License-Identifier: Apache-2.0
// How an agent reports that it cannot record its process: by the name of an empty file in the
// session directory, "PID.ERRNO.STEP.unrecorded". If the disk has no space for that file, the mode
// of the abandoned arena or channel file reports it (kGivenUpMode). A process that cannot reach the
// directory, because it changed its user or runs in a container, sends the collector a message
// instead.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>

namespace tracesmith::arena {

/// The step that failed. The numbers are part of the file name.
enum class ArmStep : uint8_t {
  kUnknown = 0,    // the name has no step
  kDirectory = 1,  // opening the session directory
  kFile = 2,       // creating the arena file in it
  kRoom = 3,       // reserving the file's blocks
  kMap = 4,        // mapping the file
  kForkPage = 5,   // memory for the number that distinguishes a forked child from its parent
  kThreadKey = 6,  // pthread_key_create()
  kDamaged = 7,    // later: one of its files was truncated, or the disk is full
  // A process that waits to be captured (control_layout.hpp), before any request:
  kWaitMemory = 8,   // memory for names and other definitions from calls while waiting
  kWaitPage = 9,     // creating its page in the control directory
  kWaitThread = 10,  // starting the waiting thread
};

/// Set in the mode of an arena or channel file that its process has abandoned (ArmStep::kDamaged).
/// Changing the mode needs no disk blocks; creating a file may need some.
constexpr unsigned kGivenUpMode = 0100;

/// The failure, as text after "process 12 could not ", and advice what to try.
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
    case ArmStep::kWaitMemory:
      return "get memory for names and other definitions";
    case ArmStep::kWaitPage:
      return "make its page in the control directory";
    case ArmStep::kWaitThread:
      return "start the thread that waits for a capture";
    case ArmStep::kUnknown:
    case ArmStep::kRoom:
      break;
  }
  return "make its rings";
}
/// What is missing in the trace.
constexpr const char* consequenceOf(ArmStep step) {
  return step == ArmStep::kDamaged ? "what it did from then on was not recorded"
                                   : "nothing of it was recorded";
}
constexpr const char* adviceOn(ArmStep step) {
  switch (step) {
    case ArmStep::kDirectory:
    case ArmStep::kFile:
      return "the program must be able to see and write the output folder: give -o a path that the "
             "program sees under the same name, and record as the user that the program changes to";
    case ArmStep::kForkPage:
    case ArmStep::kThreadKey:
    case ArmStep::kWaitMemory:
    case ArmStep::kWaitThread:
      return "the program uses up that resource itself, or its limits are too low";
    case ArmStep::kWaitPage:
      return "remove the cause (resource limits, its user, a full disk) and start it again";
    case ArmStep::kDamaged:
      return "its file was cut short, or the disk is full: give -o a path on another disk";
    default:
      return "use smaller rings: -b BYTES";
  }
}

/// The message: one datagram. The kernel tells the collector which process sent it.
struct UnrecordedMessage {
  uint64_t magic;
  int32_t error;      // errno
  uint32_t step;      // ArmStep
  uint32_t recorder;  // 1: from the recorder for replay (".unchanneled"), else 0
  uint32_t reserved;
};
constexpr uint64_t kUnrecordedMagic = 0x31434552'4e555354;  // "TSUNREC1"

/// The collector's address: an abstract socket named after a hash (FNV-1a) of the session
/// directory, whose path may have any length. Returns the address length.
inline socklen_t unrecordedAddress(const char* session, sockaddr_un& address) {
  constexpr char kPrefix[] = "tracesmith-unrecorded-";
  uint64_t hash = 0xcbf29ce484222325;
  for (const char* p = session; *p != 0; ++p) {
    hash = (hash ^ static_cast<unsigned char>(*p)) * 0x100000001b3;
  }
  address = {};
  address.sun_family = AF_UNIX;
  size_t at = 1;  // after the NUL of an abstract address
  for (const char* p = kPrefix; *p != 0; ++p) address.sun_path[at++] = *p;
  for (int shift = 60; shift >= 0; shift -= 4) {
    address.sun_path[at++] = "0123456789abcdef"[(hash >> shift) & 15];
  }
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + at);
}

}  // namespace tracesmith::arena
