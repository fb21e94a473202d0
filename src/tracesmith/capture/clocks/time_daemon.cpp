// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/time_daemon.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/calendar_clock.hpp"
#include "tracesmith/capture/clocks/network_bytes.hpp"
#include "tracesmith/capture/clocks/udp_socket.hpp"

namespace tracesmith {
namespace {

constexpr uint16_t kChronyPort = 323, kNtpPort = 123;
constexpr int kPatienceMs = 50;  // it is on this host
constexpr double kMostSeconds = 1e6;

/// chrony's numbers: 7 bits of exponent, 25 of coefficient, both signed.
double chronyFloat(uint32_t word) {
  constexpr int kCoefficientBits = 25;
  int exponent = static_cast<int>(word >> kCoefficientBits);
  if (exponent >= 64) exponent -= 128;
  auto coefficient = static_cast<int32_t>(word & ((1U << kCoefficientBits) - 1));
  if (coefficient >= 1 << (kCoefficientBits - 1)) coefficient -= 1 << kCoefficientBits;
  return std::ldexp(coefficient, exponent - kCoefficientBits);
}

Result<int64_t> nsOf(double seconds) {
  if (!(std::abs(seconds) < kMostSeconds)) return fail(ErrorCode::kDamaged, "has absurd times");
  return static_cast<int64_t>(std::llround(seconds * 1e9));
}

/// Sets the bound from what the daemon says.
Status setError(DaemonTime& time, int64_t also = 0) {
  if (time.root_delay < 0 || time.dispersion < 0) {
    return fail(ErrorCode::kDamaged, "has absurd times");
  }
  time.error = time.root_delay / 2 + time.dispersion + also + 1;
  return {};
}

std::string addressText(uint16_t family, std::string_view bytes, uint32_t reference) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v6 = family == 2;
  if ((is_v6 || family == 1) &&
      ::inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size()) != nullptr) {
    return text.data();
  }
  std::string name;  // of a clock at this host: "GPS", "PPS"
  for (int shift = 24; shift >= 0; shift -= 8) {
    const auto c = static_cast<char>(reference >> shift & 0xff);
    if (c > ' ' && c <= '~') name += c;
  }
  return name;
}

/// Sends `question` to a port of this host, and returns the first packet from there, or nullopt.
/// Only root may listen at these ports, unless net.ipv4.ip_unprivileged_port_start allows others
/// to.
std::optional<std::string> askLocal(uint16_t port, const std::string& question) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::optional<std::string> answer;
  pollfd wait{fd, POLLIN, 0};
  std::string bytes(1024, '\0');
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      ::send(fd, question.data(), question.size(), MSG_NOSIGNAL) >= 0 &&
      ::poll(&wait, 1, kPatienceMs) == 1) {
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got >= 0) answer = bytes.substr(0, static_cast<size_t>(got));
  }
  ::close(fd);
  return answer;
}

Result<DaemonTime> askChrony() {
  // Version 6 of its command protocol, request 33 (tracking); as long as the answer.
  const auto number = static_cast<uint32_t>(newNonce());
  std::string question(104, '\0');
  putNumber(question, 0, 1, 6);
  putNumber(question, 1, 1, 1);
  putNumber(question, 4, 2, 33);
  putNumber(question, 8, 4, number);
  const auto answer = askLocal(kChronyPort, question);
  if (!answer) return fail(ErrorCode::kNotFound, "does not answer", "chrony");
  return chronyAnswer(*answer, number);
}

Result<DaemonTime> askNtpd() {
  // A control message (RFC 9327): operation 2 reads variables.
  const auto number = static_cast<uint16_t>(newNonce());
  const std::string names = "leap,stratum,refid,reftime,rootdelay,rootdisp,offset";
  std::string question(12, '\0');
  putNumber(question, 0, 1, 0x16);
  putNumber(question, 1, 1, 2);
  putNumber(question, 2, 2, number);
  putNumber(question, 10, 2, names.size());
  question += names;
  question.resize((question.size() + 3) / 4 * 4);
  const auto answer = askLocal(kNtpPort, question);
  if (!answer) return fail(ErrorCode::kNotFound, "does not answer", "ntpd");
  return ntpdAnswer(*answer, number, clockNs(CLOCK_REALTIME));
}

/// The text behind "name=" in "a=1, b=2".
std::optional<std::string_view> variableOf(std::string_view text, std::string_view name) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string_view item = text.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kSpace = " \r\n\t";
    const size_t first = item.find_first_not_of(kSpace);
    if (first == std::string_view::npos) continue;
    item = item.substr(first, item.find_last_not_of(kSpace) - first + 1);
    if (item.starts_with(name) && item.substr(name.size()).starts_with('=')) {
      return item.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<double> numberOf(std::string_view text, std::string_view name) {
  const auto value = variableOf(text, name);
  if (!value) return std::nullopt;
  const std::string digits(*value);
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != '\0' || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// Of a time like 0xeeb5cbde.a6ad3044, in seconds since 1900 (until 2036, then since 2036).
std::optional<int64_t> realtimeOf(std::string_view text) {
  constexpr uint64_t k1900To1970 = 2'208'988'800, kEra = uint64_t{1} << 32;
  if (!text.starts_with("0x")) return std::nullopt;
  uint64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 2, end, seconds, 16);
  if (read.ec != std::errc() || seconds >= kEra || read.ptr == end || *read.ptr != '.') {
    return std::nullopt;
  }
  if (seconds < k1900To1970) seconds += kEra;
  return static_cast<int64_t>((seconds - k1900To1970) * 1'000'000'000);
}

/// The daemon's answer in this host's clock.
void joinToMonotonic(DaemonTime& time, int64_t asked_ns) {
  const clocks::OffsetBound calendar = calendarOffset();
  const int64_t offset = calendar.middle() + time.behind_utc;
  // It may correct the clock since it was asked.
  const int64_t since = (monotonicNs() - asked_ns) * clocks::kMostDriftPpm / 1'000'000;
  const int64_t error = time.error + calendar.halfWidth() + since;
  time.utc = {calendar.at, offset - error, offset + error};
}

}  // namespace

Result<DaemonTime> chronyAnswer(std::string_view bytes, uint32_t number) {
  constexpr size_t kBytes = 104, kHeader = 28;
  constexpr uint64_t kTracking = 5, kUnsynchronised = 3;
  constexpr uint32_t kLocal = 0x7f7f0101;  // "local" in its configuration: time of nobody else
  const auto damaged = [] { return fail(ErrorCode::kDamaged, "is no answer of chrony"); };
  if (bytes.size() < kHeader || numberAt(bytes, 0, 1) != 6 || numberAt(bytes, 1, 1) != 2 ||
      numberAt(bytes, 16, 4) != number) {
    return damaged();
  }
  if (numberAt(bytes, 8, 2) != 0 || numberAt(bytes, 6, 2) != kTracking) {
    return fail(ErrorCode::kUnsupported, "does not tell its time", "chrony");
  }
  if (bytes.size() < kBytes) return damaged();
  DaemonTime time;
  time.daemon = "chrony";
  const auto reference = static_cast<uint32_t>(numberAt(bytes, 28, 4));
  if (numberAt(bytes, 54, 2) == kUnsynchronised || reference == 0 || reference == kLocal) {
    return fail(ErrorCode::kUnsupported, "is not synchronised with a source of time", "chrony");
  }
  time.source =
      addressText(static_cast<uint16_t>(numberAt(bytes, 48, 2)), bytes.substr(32, 16), reference);
  time.stratum = static_cast<uint32_t>(numberAt(bytes, 52, 2));
  const auto secondsAt = [&](size_t at) {
    return nsOf(chronyFloat(static_cast<uint32_t>(numberAt(bytes, at, 4))));
  };
  TS_TRY(time.behind_utc, secondsAt(68));
  TS_TRY(time.root_delay, secondsAt(92));
  TS_TRY(time.dispersion, secondsAt(96));
  TS_CHECK_OK(setError(time));
  return time;
}

Result<DaemonTime> ntpdAnswer(std::string_view bytes, uint16_t number, int64_t realtime_ns) {
  constexpr size_t kHeader = 12;
  const auto damaged = [] { return fail(ErrorCode::kDamaged, "is no answer of ntpd"); };
  if (bytes.size() < kHeader || (numberAt(bytes, 0, 1) & 7) != 6 ||
      (numberAt(bytes, 1, 1) & 0x9f) != 0x82 || numberAt(bytes, 2, 2) != number ||
      numberAt(bytes, 8, 2) != 0) {
    return damaged();
  }
  if ((numberAt(bytes, 1, 1) & 0x40) != 0) {
    return fail(ErrorCode::kUnsupported, "does not tell its time", "ntpd");
  }
  const std::string_view text = bytes.substr(kHeader, numberAt(bytes, 10, 2));
  const auto leap = numberOf(text, "leap"), stratum = numberOf(text, "stratum");
  const auto delay = numberOf(text, "rootdelay"), dispersion = numberOf(text, "rootdisp");
  const auto offset = numberOf(text, "offset");
  if (!leap || !stratum || !delay || !dispersion || !offset) return damaged();
  const auto updated = realtimeOf(variableOf(text, "reftime").value_or(""));
  if (*leap == 3 || !(*stratum >= 1 && *stratum < 16) || !updated) {
    return fail(ErrorCode::kUnsupported, "is not synchronised with a source of time", "ntpd");
  }
  DaemonTime time;
  time.daemon = "ntpd";
  time.source = std::string(variableOf(text, "refid").value_or(""));
  time.stratum = static_cast<uint32_t>(*stratum);
  TS_TRY(time.root_delay, nsOf(*delay / 1e3));
  TS_TRY(time.dispersion, nsOf(*dispersion / 1e3));
  TS_TRY(const int64_t last_offset, nsOf(*offset / 1e3));
  // A clock that nobody corrects is taken to leave its time by 15 parts per million (RFC 5905).
  time.dispersion += std::max<int64_t>(0, realtime_ns - *updated) / 1'000'000 * 15;
  // The offset was measured at its last update; how much is corrected since, it does not tell.
  TS_CHECK_OK(setError(time, std::abs(last_offset)));
  return time;
}

Result<DaemonTime> askTimeDaemon() {
  const int64_t asked_ns = monotonicNs();
  Result<DaemonTime> found = askChrony();
  if (!found && found.error().code == ErrorCode::kNotFound) {
    Result<DaemonTime> other = askNtpd();
    if (other || other.error().code != ErrorCode::kNotFound) found = std::move(other);
  }
  if (!found) {
    if (found.error().code != ErrorCode::kNotFound) return found;
    return fail(ErrorCode::kNotFound, "neither chrony nor ntpd answers on this host");
  }
  joinToMonotonic(*found, asked_ns);
  return found;
}

}  // namespace tracesmith
