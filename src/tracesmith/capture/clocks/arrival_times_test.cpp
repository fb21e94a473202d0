// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/arrival_times.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/clock_probe.hpp"
#include "tracesmith/capture/clocks/udp_socket.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kPauseNs = 20'000'000;

/// A packet that waited for kPauseNs until it was read: when it was sent, came, and was read.
class ArrivalTimesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = ClockServer::open("127.0.0.1", 0);  // whose port is not read
    ASSERT_TRUE(server);
    const auto to_self = connectUdp("127.0.0.1:" + std::to_string(server->port()), 1);
    ASSERT_TRUE(to_self);
    fd_ = *to_self;
    // A socket that is connected to itself gets what it sends.
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ASSERT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size), 0);
    ASSERT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&own), size), 0);
  }
  void TearDown() override { ::close(fd_); }

  ssize_t receive(int64_t& arrived) {
    char bytes[8];
    alignas(cmsghdr) char control[ArrivalTimes::kControlBytes];
    iovec into{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    return arrivals_.receive(fd_, message, arrived);
  }

  void sendAndRead() {
    ASSERT_EQ(::send(fd_, "a", 1, 0), 1);
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPauseNs));
    const int64_t before = monotonicNs();
    ASSERT_EQ(receive(arrived_), 1);
    waited_ = before - arrived_;
  }

  int fd_ = -1;
  ArrivalTimes arrivals_;
  int64_t arrived_ = 0, waited_ = 0;
};

TEST_F(ArrivalTimesTest, AreThoseOfTheKernel) {
  ArrivalTimes::enable(fd_);
  int64_t nothing = 0;
  // The kernel begins to stamp a moment after the first socket of the system wants it; until then
  // packets come when they are read.
  int stamped = 0;
  for (int i = 0; i < 200 && stamped < 3; ++i) {
    ASSERT_LT(receive(nothing), 0) << "the queue is empty";
    EXPECT_EQ(errno, EAGAIN);
    const int64_t sent = monotonicNs();
    sendAndRead();
    EXPECT_GE(arrived_, sent);
    EXPECT_LE(arrived_, monotonicNs());
    stamped += waited_ >= kPauseNs / 2 ? 1 : 0;
  }
  EXPECT_EQ(stamped, 3) << "none came long before it was read";
}

TEST_F(ArrivalTimesTest, AreThoseOfReadingWithoutStamps) {
  int64_t nothing = 0;
  ASSERT_LT(receive(nothing), 0);
  sendAndRead();
  EXPECT_LE(waited_, 0);
}

TEST_F(ArrivalTimesTest, PacketsThatWaitedBeforeTheFirstReading) {
  ArrivalTimes::enable(fd_);
  // Whether the clock was set since they came, nobody knows.
  for (int i = 0; i < 2; ++i) {
    sendAndRead();
    EXPECT_LE(waited_, 0);
  }
}

}  // namespace
}  // namespace tracesmith
