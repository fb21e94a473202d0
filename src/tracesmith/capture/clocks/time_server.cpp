// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/time_server.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/udp_socket.hpp"

namespace tracesmith {
namespace {

constexpr uint16_t kServerPort = 123;
constexpr int kServerQuestions = 4;  // public servers refuse who asks more
constexpr int kServerPatienceMs = 1'000;
constexpr size_t kServerPacketBytes = 48;
constexpr uint8_t kVersion4Client = 4 << 3 | 3;
constexpr int64_t kNsInSecond = 1'000'000'000;

uint64_t numberAt(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

/// A time of NTP, in ns since 1970: seconds since 1900 until 2036, then since 2036.
int64_t calendarOf(const uint8_t* bytes) {
  constexpr uint64_t k1900To1970 = 2'208'988'800, kEra = uint64_t{1} << 32;
  uint64_t seconds = numberAt(bytes, 4);
  if (seconds < k1900To1970) seconds += kEra;
  return static_cast<int64_t>(seconds - k1900To1970) * kNsInSecond +
         static_cast<int64_t>(numberAt(bytes + 4, 4) * kNsInSecond >> 32);
}

/// 16 bits of seconds, 16 of a second's parts.
int64_t shortTimeOf(const uint8_t* bytes) {
  return static_cast<int64_t>(numberAt(bytes, 4) * kNsInSecond >> 16);
}

struct Answer {
  clocks::Exchange exchange;  // there: UTC
  int64_t error_ns = 0;       // of the server's time
  uint32_t stratum = 0;
};

/// nullopt: no answer to this question.
Result<std::optional<Answer>> answerOf(const uint8_t* p, size_t bytes, uint64_t nonce, int64_t sent,
                                       int64_t received, const std::string& server) {
  // The server returns the client's transmit time, which is a random number here.
  if (bytes < kServerPacketBytes || (p[0] & 7) != 4 || numberAt(p + 24, 8) != nonce) {
    return std::optional<Answer>();
  }
  const uint8_t stratum = p[1];
  if (stratum == 0) {  // "kiss of death"
    const std::string code(reinterpret_cast<const char*>(p) + 12, 4);
    const bool is_text =
        std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    return fail(ErrorCode::kUnsupported,
                "gives no time" + (is_text ? " (" + code + ")" : std::string()) +
                    "; ask another time server",
                server);
  }
  if (p[0] >> 6 == 3 || stratum >= 16) {
    return fail(ErrorCode::kUnsupported, "does not know the time itself", server);
  }
  Answer answer;
  answer.stratum = stratum;
  answer.exchange = {sent, calendarOf(p + 32), calendarOf(p + 40), received};
  // RFC 5905, 11.2: half of the delay to the root, and what may be off on the way there. A
  // fraction of a second in a packet is as exact as the server's clock is read.
  const int precision = std::clamp<int>(static_cast<int8_t>(p[3]), -30, 0);
  answer.error_ns = shortTimeOf(p + 4) / 2 + shortTimeOf(p + 8) + (kNsInSecond >> -precision) + 1;
  return std::optional(answer);
}

class OwnSocket {
 public:
  explicit OwnSocket(int fd) : fd_(fd) {}
  ~OwnSocket() { ::close(fd_); }
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

Result<std::optional<Answer>> askOnce(int fd, const std::string& server) {
  uint8_t packet[kServerPacketBytes] = {kVersion4Client};
  const uint64_t nonce = newNonce();
  for (size_t i = 0; i < 8; ++i) packet[40 + i] = static_cast<uint8_t>(nonce >> (56 - 8 * i));
  const int64_t sent = monotonicNs();
  if (::send(fd, packet, sizeof packet, MSG_NOSIGNAL) < 0) {
    if (errno == ECONNREFUSED) return std::optional<Answer>();
    return failErrno(errno, "cannot be asked", server);
  }
  for (;;) {
    const int64_t left_ms = kServerPatienceMs - (monotonicNs() - sent) / 1'000'000;
    pollfd waiting{fd, POLLIN, 0};
    if (left_ms <= 0) return std::optional<Answer>();
    const int ready = ::poll(&waiting, 1, static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::optional<Answer>();
    uint8_t bytes[1024];
    const ssize_t got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    const int64_t received = monotonicNs();
    if (got < 0) {
      if (errno == ECONNREFUSED) return std::optional<Answer>();
      continue;
    }
    TS_TRY(const std::optional<Answer> answer,
           answerOf(bytes, static_cast<size_t>(got), nonce, sent, received, server));
    if (answer) return answer;
  }
}

}  // namespace

Result<ServerTime> askTimeServer(const std::string& server) {
  TS_TRY(const int fd, connectUdp(server, kServerPort));
  const OwnSocket socket(fd);
  std::vector<clocks::Exchange> exchanges;
  ServerTime time;
  int64_t error_ns = 0;
  int impossible = 0;
  for (int i = 0; i < kServerQuestions; ++i) {
    const Result<std::optional<Answer>> answer = askOnce(socket.fd(), server);
    if (!answer) {
      // One that answers no more for now has given the time before.
      if (exchanges.empty()) return tl::unexpected<Error>(answer.error());
      break;
    }
    if (!*answer) {
      if (!exchanges.empty() || i > 0) break;  // lost, or it wants to be asked less often
      continue;
    }
    const clocks::Exchange& exchange = (*answer)->exchange;
    if (!clocks::isPossible(exchange)) {
      ++impossible;
      continue;
    }
    const int64_t trip = clocks::tripOf(exchange);
    if (exchanges.empty() || trip < time.least_trip_ns) time.least_trip_ns = trip;
    exchanges.push_back(exchange);
    error_ns = std::max(error_ns, (*answer)->error_ns);
    time.stratum = (*answer)->stratum;
  }
  if (exchanges.empty() && impossible > 0) {
    return fail(ErrorCode::kUnsupported,
                "gave times that contradict themselves: its clock is too coarse, or was set",
                server);
  }
  if (exchanges.empty()) {
    return fail(ErrorCode::kNotFound, "does not answer as a time server (NTP)", server);
  }
  const std::optional<clocks::OffsetBound> bound = clocks::boundOf(exchanges);
  if (!bound) {
    return fail(ErrorCode::kUnsupported, "gave times that contradict each other", server);
  }
  time.utc = {bound->at, bound->low - error_ns, bound->high + error_ns};
  return time;
}

}  // namespace tracesmith
