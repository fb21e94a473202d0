// SPDX-License-Identifier: Apache-2.0
// Over the loopback device; tests/cli/clock_test.py does it between hosts whose clocks differ.
#include "tracesmith/capture/clocks/clock_probe.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tracesmith/capture/clocks/clock_packet.hpp"
#include "tracesmith/capture/clocks/rate_limit.hpp"

namespace tracesmith {
namespace {

const std::atomic<bool> kGoOn{false};
constexpr int64_t kPatienceNs =
    10'000'000'000;  // nothing is lost here, but the machine may be busy

class ClockProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = ClockServer::open("127.0.0.1", 0);
    ASSERT_TRUE(server) << server.error().toString();
    server_.emplace(std::move(*server));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->serve(stop_)); });
  }
  void TearDown() override { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }

  std::optional<ClockServer> server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(ClockProbeTest, TheSameClockHasNoOffset) {
  auto probe = ClockProbe::open(address());
  ASSERT_TRUE(probe) << probe.error().toString();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(probe->burst(kPatienceNs, kGoOn));
  ASSERT_EQ(probe->bounds().size(), 3U);
  for (const clocks::OffsetBound& bound : probe->bounds()) {
    EXPECT_LE(bound.low, 0);
    EXPECT_GE(bound.high, 0);
  }
  EXPECT_EQ(probe->counts().asked, 48U);
  EXPECT_EQ(probe->counts().answered, 48U);
  EXPECT_GT(probe->counts().least_trip_ns, 0);
  EXPECT_EQ(probe->clock(), ownClock());
  end();
  EXPECT_EQ(server_->counts().answered, 48U);
  EXPECT_EQ(server_->counts().foreign, 0U);
}

TEST_F(ClockProbeTest, ForeignPacketsAreNoQuestionsAndNoAnswers) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(server_->port());
  ClockPacket answer;
  answer.kind = ClockPacket::kAnswer;
  const auto bytes = answer.bytes();
  for (const size_t size : {size_t{0}, size_t{1}, bytes.size() - 1, bytes.size()}) {
    EXPECT_EQ(::sendto(fd, bytes.data(), size, 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(size));
  }
  std::string wrong(bytes.begin(), bytes.end());
  wrong[0] = 'x';
  ::sendto(fd, wrong.data(), wrong.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
  ::close(fd);
  auto probe = ClockProbe::open(address());
  ASSERT_TRUE(probe);
  ASSERT_TRUE(probe->burst(kPatienceNs, kGoOn));
  EXPECT_EQ(probe->counts().answered, 16U);
  end();
  EXPECT_EQ(server_->counts().foreign, 5U);
  EXPECT_EQ(server_->counts().answered, 16U);
}

TEST(RateLimit, AnAddressThatAsksTooOftenWaits) {
  constexpr int64_t kSecond = 1'000'000'000;
  RateLimit limit(100);
  int allowed = 0;
  for (int i = 0; i < 500; ++i) allowed += limit.take("a", 0) ? 1 : 0;
  EXPECT_EQ(allowed, 100);
  EXPECT_TRUE(limit.take("b", 0)) << "others do not wait for it";
  EXPECT_FALSE(limit.take("a", kSecond / 200));
  EXPECT_TRUE(limit.take("a", kSecond / 100));
  EXPECT_FALSE(limit.take("a", kSecond / 100));
  allowed = 0;
  for (int i = 0; i < 500; ++i) allowed += limit.take("a", 60 * kSecond) ? 1 : 0;
  EXPECT_EQ(allowed, 100) << "what was not used is not kept";
  for (int i = 0; i < 20'000; ++i) {
    limit.take(std::to_string(i), 61 * kSecond);
    EXPECT_LE(limit.addresses(), RateLimit::kMostAddresses);
  }
}

/// Answers each question with packets of its own.
class Liar {
 public:
  explicit Liar(std::vector<ClockPacket> (*answers)(const ClockPacket&))
      : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    socklen_t size = sizeof own;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size);
    port_ = ntohs(own.sin_port);
    thread_ = std::thread([this, answers] {
      for (;;) {
        char bytes[ClockPacket::kBytes];
        sockaddr_in from{};
        socklen_t from_size = sizeof from;
        const ssize_t n =
            ::recvfrom(fd_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &from_size);
        if (n <= 0) return;
        const auto question = ClockPacket::of({bytes, static_cast<size_t>(n)});
        if (!question) return;  // sent by ~Liar()
        for (const ClockPacket& each : answers(*question)) {
          const auto out = each.bytes();
          ::sendto(fd_, out.data(), out.size(), 0, reinterpret_cast<sockaddr*>(&from), from_size);
        }
      }
    });
  }
  ~Liar() {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    own.sin_port = htons(port_);
    ::sendto(fd_, "x", 1, 0, reinterpret_cast<sockaddr*>(&own), sizeof own);
    thread_.join();
    ::close(fd_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST(ClockProbeOf, AnswersThatAreNotOnesAreCountedAndNoMore) {
  const Liar liar([](const ClockPacket& question) -> std::vector<ClockPacket> {
    ClockPacket wrong_number = question, impossible = question, right = question;
    wrong_number.kind = impossible.kind = right.kind = ClockPacket::kAnswer;
    ++wrong_number.nonce;
    right.received_there = right.sent_there = question.sent + 5'000'000'000;
    return {question, wrong_number, right};
  });
  auto probe = ClockProbe::open(liar.address());
  ASSERT_TRUE(probe);
  ASSERT_TRUE(probe->burst(kPatienceNs, kGoOn));
  EXPECT_EQ(probe->counts().foreign, 32U);
  EXPECT_EQ(probe->counts().answered, 16U);
  ASSERT_EQ(probe->bounds().size(), 1U);
  EXPECT_LE(probe->bounds()[0].low, 5'000'000'000);
  EXPECT_GE(probe->bounds()[0].high, 5'000'000'000 - 1'000'000'000);
}

TEST(ClockProbeOf, TimesThatCannotBeGiveNoBound) {
  const Liar liar([](const ClockPacket& question) -> std::vector<ClockPacket> {
    ClockPacket impossible = question;
    impossible.kind = ClockPacket::kAnswer;
    impossible.received_there = question.nonce % 2 == 0 ? 10 : INT64_MIN;
    impossible.sent_there = question.nonce % 2 == 0 ? 5 : INT64_MAX;
    return {impossible};
  });
  auto probe = ClockProbe::open(liar.address());
  ASSERT_TRUE(probe);
  ASSERT_TRUE(probe->burst(kPatienceNs, kGoOn));
  EXPECT_TRUE(probe->bounds().empty());
  EXPECT_EQ(probe->counts().impossible, 16U);
  EXPECT_EQ(probe->counts().without_bound, 1U);
  EXPECT_EQ(probe->counts().least_trip_ns, 0);
}

/// Each answer is the one to the question before: a network on which they take longer than the
/// patience.
TEST(ClockProbeOf, AnswersThatComeLateCount) {
  static std::optional<ClockPacket> before;
  before.reset();
  const Liar liar([](const ClockPacket& question) -> std::vector<ClockPacket> {
    ClockPacket answer = question;
    answer.kind = ClockPacket::kAnswer;
    answer.received_there = answer.sent_there = question.sent;
    const auto late = std::exchange(before, answer);
    return late ? std::vector<ClockPacket>{*late} : std::vector<ClockPacket>{};
  });
  auto probe = ClockProbe::open(liar.address());
  ASSERT_TRUE(probe);
  ASSERT_TRUE(probe->burst(5'000'000, kGoOn));
  EXPECT_GE(probe->counts().answered, 14U);
  EXPECT_EQ(probe->counts().foreign, 0U);
  EXPECT_EQ(probe->bounds().size(), 1U);
}

TEST(ClockProbeOf, AHostAnswersFromTheAddressThatWasAsked) {
  auto server = ClockServer::open("", 0);
  ASSERT_TRUE(server) << server.error().toString();
  std::atomic<bool> stop{false};
  std::thread thread([&] { (void)server->serve(stop); });
  // All of 127/8 is this host; an answer would come from 127.0.0.1.
  auto probe = ClockProbe::open("127.3.2.1:" + std::to_string(server->port()));
  ASSERT_TRUE(probe);
  EXPECT_TRUE(probe->burst(100'000'000, kGoOn));
  EXPECT_EQ(probe->counts().answered, 16U);
  stop = true;
  thread.join();
}

TEST(ClockProbeOf, WhoDoesNotAnswerIsNamed) {
  auto server = ClockServer::open("127.0.0.1", 0);
  ASSERT_TRUE(server);
  const std::string address = "127.0.0.1:" + std::to_string(server->port());
  auto silent = ClockProbe::open(address);
  ASSERT_TRUE(silent);
  ASSERT_TRUE(silent->burst(1'000'000, kGoOn));
  EXPECT_EQ(silent->counts().answered, 0U);
  EXPECT_EQ(silent->counts().asked, 5U);
  EXPECT_EQ(silent->counts().without_bound, 1U);
  EXPECT_TRUE(silent->bounds().empty());
  { const ClockServer gone = std::move(*server); }
  auto nobody = ClockProbe::open(address);
  ASSERT_TRUE(nobody);
  const Status asked = nobody->burst(kPatienceNs, kGoOn);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().where, address);
  EXPECT_NE(asked.error().message.find("answers no questions about its clock"), std::string::npos);
  EXPECT_FALSE(ClockProbe::open("no.such.host.invalid"));
  EXPECT_FALSE(ClockProbe::open("127.0.0.1:port"));
  EXPECT_FALSE(ClockServer::open("nowhere", 0));
}

TEST(ClockProbeOf, Ipv6) {
  auto server = ClockServer::open("::1", 0);
  if (!server) GTEST_SKIP() << server.error().toString();
  std::atomic<bool> stop{false};
  std::thread thread([&] { (void)server->serve(stop); });
  auto probe = ClockProbe::open("[::1]:" + std::to_string(server->port()));
  ASSERT_TRUE(probe) << probe.error().toString();
  EXPECT_TRUE(probe->burst(kPatienceNs, kGoOn));
  EXPECT_EQ(probe->counts().answered, 16U);
  stop = true;
  thread.join();
}

}  // namespace
}  // namespace tracesmith
