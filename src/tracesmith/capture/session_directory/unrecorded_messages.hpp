// SPDX-License-Identifier: Apache-2.0
// Listens to processes that cannot reach the session directory and so cannot be recorded: one that
// has become another user, or that lives in a container (unrecorded_layout.hpp).
#pragma once

#include <functional>
#include <vector>

#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

class UnrecordedMessages {
 public:
  /// Begins to listen. Where the address cannot be had nothing is heard.
  explicit UnrecordedMessages(const SessionDir& dir);
  ~UnrecordedMessages();
  UnrecordedMessages(const UnrecordedMessages&) = delete;
  UnrecordedMessages& operator=(const UnrecordedMessages&) = delete;

  /// Takes in what has arrived. Any process of the machine may send; its pid is the kernel's word.
  void poll();
  /// Makes the files that these processes could not make. Others than those that `isOurs` are left
  /// out. Call it when all processes of the session are known.
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
