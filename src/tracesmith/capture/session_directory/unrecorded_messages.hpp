// SPDX-License-Identifier: Apache-2.0
// Listens for processes that cannot reach the session directory and so cannot be recorded. Such a
// process has changed its user, or lives in a container (unrecorded_layout.hpp).
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

class UnrecordedMessages {
 public:
  /// Starts to listen. If the address cannot be bound, no messages are received.
  explicit UnrecordedMessages(const SessionDir& dir);
  ~UnrecordedMessages();
  UnrecordedMessages(const UnrecordedMessages&) = delete;
  UnrecordedMessages& operator=(const UnrecordedMessages&) = delete;

  /// Reads the messages that have arrived. Any process of the machine may send them; the kernel
  /// vouches for the sender's pid.
  void poll();
  /// Creates the files that these processes could not create, except for processes for which
  /// `isOurs` is false. Call it when all processes of the session are known.
  void keep(const SessionDir& dir, const std::function<bool(uint32_t pid)>& isOurs);

 private:
  struct Message {
    uint32_t pid = 0;
    arena::UnrecordedMessage text{};
  };
  int fd_ = -1;
  std::vector<Message> messages_;
};

}  // namespace tracesmith
