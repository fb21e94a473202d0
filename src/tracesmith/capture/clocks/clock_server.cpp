// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/arrival_times.hpp"
#include "tracesmith/capture/clocks/clock_packet.hpp"
#include "tracesmith/capture/clocks/clock_probe.hpp"
#include "tracesmith/capture/clocks/rate_limit.hpp"

namespace tracesmith {
namespace {

constexpr int kMostInARow = 1024;

/// A packet with the address that it was sent to: a host may have several, and who asked one of
/// them takes no answer from another.
class ReceivedPacket {
 public:
  /// False, with errno, if there is none.
  bool receive(int fd, ArrivalTimes& arrivals) {
    iovec into{data_, sizeof data_};
    msghdr message = header(&into);
    message.msg_controllen = sizeof control_;
    const ssize_t n = arrivals.receive(fd, message, time_);
    if (n < 0) return false;
    size_ = static_cast<size_t>(n);
    from_size_ = message.msg_namelen;
    control_size_ = message.msg_controllen;
    return true;
  }

  bool answer(int fd, std::array<char, ClockPacket::kBytes> bytes) {
    iovec out{bytes.data(), bytes.size()};
    msghdr message = header(&out);
    message.msg_namelen = from_size_;
    message.msg_controllen = control_size_;
    // By the address that was asked, over whatever interface leads there. The kernel takes back
    // that address alone, and not its time stamp.
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in6_pktinfo))] = {};
    size_t size = 0;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
      if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_PKTINFO) {
        auto* info = reinterpret_cast<in_pktinfo*>(CMSG_DATA(each));
        info->ipi_ifindex = 0;
        info->ipi_spec_dst = info->ipi_addr;
        size = CMSG_SPACE(sizeof *info);
      } else if (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_PKTINFO) {
        auto* info = reinterpret_cast<in6_pktinfo*>(CMSG_DATA(each));
        if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr)) info->ipi6_ifindex = 0;
        size = CMSG_SPACE(sizeof *info);
      } else {
        continue;
      }
      std::memcpy(control, each, each->cmsg_len);
      break;
    }
    message.msg_control = size == 0 ? nullptr : control;
    message.msg_controllen = size;
    return ::sendmsg(fd, &message, 0) == static_cast<ssize_t>(bytes.size());
  }

  std::string_view bytes() const { return {data_, size_}; }
  const sockaddr_storage& from() const { return from_; }
  int64_t time() const { return time_; }

 private:
  msghdr header(iovec* bytes) {
    msghdr message{};
    message.msg_name = &from_;
    message.msg_namelen = sizeof from_;
    message.msg_iov = bytes;
    message.msg_iovlen = 1;
    message.msg_control = control_;
    return message;
  }

  char data_[ClockPacket::kBytes + 1];
  size_t size_ = 0;
  sockaddr_storage from_{};
  socklen_t from_size_ = 0;
  alignas(cmsghdr) char control_[64 + ArrivalTimes::kControlBytes];
  size_t control_size_ = 0;
  int64_t time_ = 0;
};

/// Without the port, which is new for each client.
std::string addressOf(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(from).sin6_addr, text,
                sizeof text);
  } else if (from.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text, sizeof text);
  }
  return text;
}

uint16_t portOf(int fd) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

}  // namespace

Result<ClockServer> ClockServer::open(const std::string& address, uint16_t port) {
  // For all addresses one of IPv6, which takes IPv4 as well; where there is no IPv6, one of IPv4.
  const std::string where = (address.empty() ? "*" : address) + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (const int error = ::getaddrinfo(address.empty() ? nullptr : address.c_str(), service.c_str(),
                                      &hints, &found);
      error != 0) {
    return fail(ErrorCode::kInvalidArgument,
                std::string("is no numeric address: ") + ::gai_strerror(error), where);
  }
  int last_error = EADDRNOTAVAIL;
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      if (each->ai_family != family) continue;
      const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd < 0) {
        last_error = errno;
        continue;
      }
      const int no = 0, yes = 1;
      if (family == AF_INET6) {
        ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
        ::setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes);
      } else {
        ::setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes);
      }
      ArrivalTimes::enable(fd);
      if (::bind(fd, each->ai_addr, each->ai_addrlen) == 0) {
        ::freeaddrinfo(found);
        return ClockServer(fd, portOf(fd));
      }
      last_error = errno;
      ::close(fd);
    }
  }
  ::freeaddrinfo(found);
  return failErrno(last_error, "cannot answer there", where);
}

ClockServer::ClockServer(ClockServer&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), port_(other.port_), counts_(other.counts_) {}

ClockServer::~ClockServer() {
  if (fd_ >= 0) ::close(fd_);
}

Status ClockServer::serve(const std::atomic<bool>& stop) {
  // A client sends 16 questions a second. An address may have many clients (containers, ranks).
  RateLimit limit(4096);
  ArrivalTimes arrivals;
  while (!stop.load()) {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, 200) < 0 && errno != EINTR) {
      return failErrno(errno, "cannot wait for questions");
    }
    // Not for ever: while packets keep coming there would be no end.
    for (int i = 0; i < kMostInARow && !stop; ++i) {
      ReceivedPacket packet;
      if (!packet.receive(fd_, arrivals)) {
        if (errno == EAGAIN || errno == EINTR) break;
        if (errno == ECONNREFUSED) continue;  // of an answer to one who has left
        return failErrno(errno, "cannot read questions");
      }
      auto question = ClockPacket::of(packet.bytes());
      if (!question || question->kind != ClockPacket::kQuestion) {
        ++counts_.foreign;
      } else if (!limit.take(addressOf(packet.from()), monotonicNs())) {
        ++counts_.refused;
      } else {
        question->kind = ClockPacket::kAnswer;
        question->clock = ownClock();
        question->received_there = packet.time();
        question->sent_there = monotonicNs();
        ++(packet.answer(fd_, question->bytes()) ? counts_.answered : counts_.unsent);
      }
    }
  }
  return {};
}

}  // namespace tracesmith
