// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/udp_socket.hpp"

#include <errno.h>
#include <netdb.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

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

}  // namespace

Result<int> connectUdp(const std::string& host, uint16_t default_port) {
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
  const std::string service = port.empty() ? std::to_string(default_port) : port;
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
      return fd;
    }
    last_error = errno;
    ::close(fd);
  }
  ::freeaddrinfo(found);
  return failErrno(last_error, "cannot be reached", host);
}

uint64_t newNonce() {
  uint64_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
    nonce = static_cast<uint64_t>(monotonicNs());
  return nonce;
}

}  // namespace tracesmith
