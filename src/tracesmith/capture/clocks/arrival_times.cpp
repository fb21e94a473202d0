// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/arrival_times.hpp"

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/clock_reading.hpp"

namespace tracesmith {
namespace {

/// Where the kernel's stamp is in a message; nullopt: it has none.
std::optional<int64_t> stampOf(msghdr& message) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp{};
    std::memcpy(&stamp, CMSG_DATA(each), sizeof stamp);
    return static_cast<int64_t>(stamp.tv_sec) * 1'000'000'000 + stamp.tv_nsec;
  }
  return std::nullopt;
}

}  // namespace

void ArrivalTimes::enable(int fd) {
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
}

ssize_t ArrivalTimes::receive(int fd, msghdr& message, int64_t& arrived) {
  const auto before = readClockOffset(CLOCK_REALTIME, 1);
  const ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT);
  const int error = errno;
  arrived = monotonicNs();
  if (got < 0) {
    // The queue is empty, so whatever is read from now on came after `before`.
    if (error == EAGAIN) before_ = before;
    errno = error;
    return got;
  }
  const auto after = readClockOffset(CLOCK_REALTIME, 1);
  const bool is_same =
      before_ && after && before_->low <= after->high && after->low <= before_->high;
  if (!is_same) {
    before_.reset();  // packets that wait may have stamps of either side
  } else if (const auto stamp = stampOf(message)) {
    // The latest that it can have been.
    arrived = std::min(arrived, *stamp - std::min(before_->low, after->low));
  }
  return got;
}

}  // namespace tracesmith
