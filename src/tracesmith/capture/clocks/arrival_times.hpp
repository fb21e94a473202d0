// SPDX-License-Identifier: Apache-2.0
// When packets arrived, rather than when this thread got to read them: on a busy host it waits for
// a processor first, and that would widen the bounds of clocks.
//
// The kernel stamps packets with CLOCK_REALTIME (SO_TIMESTAMPNS), of which the offset from
// CLOCK_MONOTONIC changes only when somebody sets the clock. So it is read before a packet can have
// come and after the packet was read; if it differs, the stamp does not count.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

class ArrivalTimes {
 public:
  /// Room that a message's control data needs for the stamp.
  static constexpr size_t kControlBytes = 64;

  /// Has the kernel stamp the packets that come to a socket. Where it does not, and for some
  /// milliseconds if no other socket of the system has stamps, packets arrive when they are read.
  static void enable(int fd);

  /// recvmsg() without waiting, of one socket only. `arrived`: CLOCK_MONOTONIC, not before the
  /// packet came, and as a rule no more than 100 ns after it.
  ssize_t receive(int fd, msghdr& message, int64_t& arrived);

 private:
  /// CLOCK_REALTIME minus CLOCK_MONOTONIC before any packet came that was not read yet; nullopt:
  /// not known, or it has changed since.
  std::optional<clocks::OffsetBound> before_;
};

}  // namespace tracesmith
