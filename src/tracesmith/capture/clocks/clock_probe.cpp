// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/clock_probe.hpp"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/clock_packet.hpp"

namespace tracesmith {
namespace {

constexpr int kQuestions = 16;
constexpr int kMostUnanswered = 5;           // of a burst, in a row: others wait for their turn
constexpr int64_t kMostWaitNs = 50'000'000;  // until `stop` is looked at

/// Of "name:port" or "[::1]:port"; a name alone, or an address of IPv6 without brackets, has no
/// port.
std::pair<std::string, std::string> partsOf(const std::string& host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string::npos) return {host, ""};
    const std::string rest = host.substr(end + 1);
    return {host.substr(1, end - 1), rest.starts_with(':') ? rest.substr(1) : ""};
  }
  const size_t colon = host.find(':');
  if (colon == std::string::npos || host.find(':', colon + 1) != std::string::npos)
    return {host, ""};
  return {host.substr(0, colon), host.substr(colon + 1)};
}

/// getaddrinfo() takes larger numbers, and means others by them.
bool isPort(std::string_view text) {
  uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && port != 0;
}

/// One that nobody guesses who does not see the packets.
uint64_t newNonce() {
  uint64_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
    nonce = static_cast<uint64_t>(monotonicNs());
  return nonce;
}

}  // namespace

Result<ClockProbe> ClockProbe::open(const std::string& host) {
  const auto [name, port] = partsOf(host);
  if (name.empty()) {
    return fail(ErrorCode::kInvalidArgument, "names no host", "'" + host + "'");
  }
  if (!port.empty() && !isPort(port)) {
    return fail(ErrorCode::kInvalidArgument, "'" + port + "' is no port: 1 to 65535", host);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = port.empty() ? std::to_string(kClockPort) : port;
  if (const int error = ::getaddrinfo(name.c_str(), service.c_str(), &hints, &found); error != 0) {
    return fail(ErrorCode::kNotFound, std::string("cannot be found: ") + ::gai_strerror(error),
                host);
  }
  int last_error = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int fd = ::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      last_error = errno;
      continue;
    }
    // Connected: the system drops packets from elsewhere, and tells when nobody listens.
    if (::connect(fd, each->ai_addr, each->ai_addrlen) == 0) {
      ::freeaddrinfo(found);
      return ClockProbe(fd, host);
    }
    last_error = errno;
    ::close(fd);
  }
  ::freeaddrinfo(found);
  return failErrno(last_error, "cannot be reached", host);
}

ClockProbe::ClockProbe(ClockProbe&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      host_(std::move(other.host_)),
      bounds_(std::move(other.bounds_)),
      clock_(other.clock_),
      counts_(other.counts_) {}

ClockProbe::~ClockProbe() {
  if (fd_ >= 0) ::close(fd_);
}

Status ClockProbe::burst(int64_t patience_ns, const std::atomic<bool>& stop) {
  std::map<uint64_t, int64_t> open_questions;  // when each was sent, by its number
  std::vector<clocks::Exchange> exchanges;
  ++counts_.bursts;
  const uint64_t before = counts_.answered;
  for (int i = 0; i < kQuestions && !stop; ++i) {
    if (i == kMostUnanswered && counts_.answered == before) break;
    ClockPacket question;
    question.nonce = newNonce();
    question.sent = monotonicNs();
    const int64_t deadline = question.sent + patience_ns;
    const auto bytes = question.bytes();
    ++counts_.asked;
    if (::send(fd_, bytes.data(), bytes.size(), 0) < 0) {
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
  const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
  const int64_t received = monotonicNs();
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
