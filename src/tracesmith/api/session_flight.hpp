// SPDX-License-Identifier: Apache-2.0
// The flight recorder of a TracingSession: takes requests of any thread to the session's own, and
// summarizes all events.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "tracesmith/api/flight_follower.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/session/session_drain.hpp"

namespace tracesmith {

class SessionFlight {
 public:
  SessionFlight(int64_t window_ns, double slow_step, uint32_t most_saved)
      : follower_(slow_step), options_{window_ns, most_saved, &follower_} {}

  const FlightOptions& options() const { return options_; }
  /// Asks the session's thread, which `wake` wakes, to save the window, and waits until it is
  /// saved. Returns the path of its file. [any thread but that]
  Result<std::string> save(const std::string& reason, const std::function<void()>& wake);
  /// Follows a request. Call it after each pass. [the session's thread]
  void serve(session::SessionDrain& drain);
  /// Answers the last request, once the session has ended. [the session's thread]
  void end(session::SessionDrain& drain);
  /// Once the trace is complete.
  Status writeSummary(const std::string& trace) { return follower_.writeSummary(trace); }

 private:
  FlightFollower follower_;
  FlightOptions options_;
  std::mutex saving_;  // one request at a time
  std::mutex mutex_;   // of what follows
  std::condition_variable changed_;
  std::optional<std::string> asked_;   // the reason
  std::optional<SavedWindow> answer_;  // number 0: it is not saved
  uint32_t number_ = 0;                // of the window that is being saved
  bool ended_ = false;

  void answer(const session::SessionDrain& drain);
};

}  // namespace tracesmith
