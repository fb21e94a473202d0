// SPDX-License-Identifier: Apache-2.0
// Asks a flight recorder from another process to save its window: by a file in its session
// directory, which it answers with another one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/flight/flight_options.hpp"

namespace tracesmith {

/// Waits until the window is saved, at most `patience_ns`. Returns the path of its file.
Result<std::string> requestWindow(const std::string& session_dir, const std::string& reason,
                                  int64_t patience_ns);

/// The recorder's side.
class WindowRequests {
 public:
  explicit WindowRequests(std::string session_dir) : directory_(std::move(session_dir)) {}

  /// Why the window is wanted, if there is a new request; looks a few times a second. The recorder
  /// then calls follow().
  std::string take(int64_t now_ns);
  /// The request is answered once the window `number` is saved; 0: it will not be.
  void follow(uint32_t number, int64_t now_ns);
  bool isWaiting() const { return !waiting_.empty(); }
  /// Answers the requests whose window is among these.
  void answer(const std::vector<SavedWindow>& saved, int64_t now_ns);

 private:
  void reply(const std::string& client, const std::string& text, int64_t now_ns);

  std::string directory_;
  int64_t looked_ns_ = 0;
  std::string client_;                                    // of the request that was taken last
  std::map<uint32_t, std::string> waiting_;               // clients, by the number of their window
  std::deque<std::pair<std::string, int64_t>> answered_;  // clients that may not have looked yet
};

}  // namespace tracesmith
