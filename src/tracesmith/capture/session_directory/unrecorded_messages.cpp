// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/unrecorded_messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"

namespace tracesmith {
namespace {

// Any process may send messages: a limit keeps them from filling our memory.
constexpr size_t kMostMessages = 4096;

}  // namespace

UnrecordedMessages::UnrecordedMessages(const SessionDir& dir) {
  sockaddr_un address;
  const socklen_t bytes = arena::unrecordedAddress(dir.path().c_str(), address);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return;
  const int on = 1;
  if (setsockopt(fd_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

UnrecordedMessages::~UnrecordedMessages() {
  if (fd_ >= 0) close(fd_);
}

void UnrecordedMessages::poll() {
  while (fd_ >= 0) {
    Message message;
    iovec part = {&message.text, sizeof message.text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(fd_, &header, MSG_CMSG_CLOEXEC);
    if (n < 0) return;
    const cmsghdr* const sender = CMSG_FIRSTHDR(&header);
    if (n != static_cast<ssize_t>(sizeof message.text) ||
        message.text.magic != arena::kUnrecordedMagic || sender == nullptr ||
        sender->cmsg_level != SOL_SOCKET || sender->cmsg_type != SCM_CREDENTIALS ||
        messages_.size() == kMostMessages) {
      continue;
    }
    ucred who{};
    std::memcpy(&who, CMSG_DATA(sender), sizeof who);
    message.pid = static_cast<uint32_t>(who.pid);
    messages_.push_back(message);
  }
}

void UnrecordedMessages::keep(const SessionDir& dir,
                              const std::function<bool(uint32_t pid)>& isOurs) {
  poll();
  for (const Message& m : messages_) {
    if (!isOurs(m.pid)) continue;
    const char* const suffix =
        m.text.recorder != 0 ? channel::kUnrecordedSuffix : arena::kUnrecordedSuffix;
    const auto fd =
        dir.files().createFile(fmt::format("{}.{}.{}{}", m.pid, m.text.error, m.text.step, suffix));
    if (fd) close(*fd);
  }
  messages_.clear();
}

}  // namespace tracesmith
