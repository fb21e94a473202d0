// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/clock_probe.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/clock_packet.hpp"
#include "tracesmith/capture/clocks/udp_socket.hpp"

namespace tracesmith {
namespace {

constexpr int kQuestions = 16;
constexpr int kMostUnanswered = 5;           // of a burst, in a row: others wait for their turn
constexpr int64_t kMostWaitNs = 50'000'000;  // until `stop` is looked at

}  // namespace

Result<ClockProbe> ClockProbe::open(const std::string& host) {
  TS_TRY(const int fd, connectUdp(host, kClockPort));
  ArrivalTimes::enable(fd);
  return ClockProbe(fd, host);
}

ClockProbe::ClockProbe(ClockProbe&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      host_(std::move(other.host_)),
      bounds_(std::move(other.bounds_)),
      clock_(other.clock_),
      arrivals_(other.arrivals_),
      counts_(other.counts_) {}

ClockProbe::~ClockProbe() {
  if (fd_ >= 0) ::close(fd_);
}

Status ClockProbe::burst(int64_t patience_ns, const std::atomic<bool>& stop) {
  std::map<uint64_t, int64_t> open_questions;  // when each was sent, by its number
  std::vector<clocks::Exchange> exchanges;
  ++counts_.bursts;
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof peer;
  if (::getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) peer_size = 0;
  const uint64_t before = counts_.answered;
  for (int i = 0; i < kQuestions && !stop; ++i) {
    if (i == kMostUnanswered && counts_.answered == before) break;
    ClockPacket question;
    question.nonce = newNonce();
    question.sent = monotonicNs();
    const int64_t deadline = question.sent + patience_ns;
    const auto bytes = question.bytes();
    ++counts_.asked;
    // With the address, so that the kernel looks up the route each time, as for the answer: then
    // both ways take about as long, and the middle of the bound is nearer to the truth.
    const sockaddr* const to = peer_size == 0 ? nullptr : reinterpret_cast<const sockaddr*>(&peer);
    if (::sendto(fd_, bytes.data(), bytes.size(), 0, to, peer_size) < 0) {
      if (errno == ECONNREFUSED) return nobodyListens();
      continue;  // no room: lost
    }
    open_questions.emplace(question.nonce, question.sent);
    while (open_questions.contains(question.nonce) && !stop) {
      TS_TRY(const bool any, takeAnswer(open_questions, exchanges));
      const int64_t left = deadline - monotonicNs();
      if (any) continue;
      if (left <= 0) break;
      pollfd waiting{fd_, POLLIN, 0};
      ::poll(&waiting, 1, static_cast<int>(std::min(left, kMostWaitNs) / 1'000'000) + 1);
    }
  }
  if (const auto bound = clocks::boundOf(exchanges)) {
    bounds_.push_back(*bound);
  } else if (!stop) {
    ++counts_.without_bound;
  }
  return {};
}

/// False if there is no packet. What answers none of the questions is counted, and no more.
Result<bool> ClockProbe::takeAnswer(std::map<uint64_t, int64_t>& open_questions,
                                    std::vector<clocks::Exchange>& exchanges) {
  char bytes[ClockPacket::kBytes + 1];
  alignas(cmsghdr) char control[ArrivalTimes::kControlBytes];
  iovec into{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  int64_t received = 0;
  const ssize_t n = arrivals_.receive(fd_, message, received);
  if (n < 0 && errno == ECONNREFUSED) return tl::unexpected(nobodyListens().error());
  if (n < 0) return false;
  const auto answer = ClockPacket::of({bytes, static_cast<size_t>(n)});
  const auto question = answer && answer->kind == ClockPacket::kAnswer
                            ? open_questions.find(answer->nonce)
                            : open_questions.end();
  if (question == open_questions.end()) {
    ++counts_.foreign;
    return true;
  }
  const clocks::Exchange exchange{question->second, answer->received_there, answer->sent_there,
                                  received};
  open_questions.erase(question);
  ++counts_.answered;
  // Bounds of two clocks do not go together: the host was started again, or another one answers.
  const bool is_other = clock_.isKnown() && answer->clock != clock_;
  if (!clocks::isPossible(exchange) || is_other) {
    ++counts_.impossible;
    return true;
  }
  exchanges.push_back(exchange);
  clock_ = answer->clock;
  const int64_t trip = std::max<int64_t>(clocks::tripOf(exchange), 1);
  if (counts_.least_trip_ns == 0 || trip < counts_.least_trip_ns) counts_.least_trip_ns = trip;
  return true;
}

Status ClockProbe::nobodyListens() const {
  return failErrno(ECONNREFUSED, "answers no questions about its clock", host_);
}

}  // namespace tracesmith
