// SPDX-License-Identifier: Apache-2.0
// What a flight recorder keeps, and what it has saved.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/flight/flight_observer.hpp"

namespace tracesmith {

struct FlightOptions {
  int64_t window_ns = 0;               ///< at least the events of this time are kept
  uint32_t most_saved = 10;            ///< how often the window is saved before the recording ends
  FlightObserver* observer = nullptr;  ///< outlives the recording; may be null
};

/// A window that was saved, or could not be, before the recording ended.
struct SavedWindow {
  uint32_t number = 0;  ///< from 1
  std::string path;
  std::string reason;
  Status status;
};

/// Whether a process that this signal ended has failed: nobody asked it to end, unless by SIGKILL,
/// which is also the end of one that took too much memory.
constexpr bool isCrash(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGKILL:
      return true;
    default:
      return false;
  }
}

}  // namespace tracesmith
