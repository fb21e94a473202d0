// SPDX-License-Identifier: Apache-2.0
// A network between `clock measure` and `clock serve` that delays, loses and delivers unevenly, and
// a clock that drifts: both are known exactly. Answers get the times of a virtual clock.
// Usage: clock_relay ADDRESS SERVER_PORT SERVER_SHIFT_NS START_NS LENGTH_NS LINK...
//   LINK: PORT,CLOCK,FORTH_NS,BACK_NS,JITTER_NS,LOSS   a port at ADDRESS that leads to the server
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/clocks/virtual_clock.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/arrival_times.hpp"
#include "tracesmith/capture/clocks/clock_packet.hpp"

namespace {

using tracesmith::ArrivalTimes;
using tracesmith::ClockPacket;
using tracesmith::monotonicNs;

constexpr int64_t kSpinNs = 150'000;  // a timer wakes later than that, now and then

[[noreturn]] void die(const char* what) {
  perror(what);
  exit(1);
}

int socketAt(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("clock_relay: bind");
  return fd;
}

struct Link {
  int clients = -1, server = -1;  // sockets
  std::optional<VirtualClock> clock;
  int64_t forth_ns = 0, back_ns = 0;
  double jitter_ns = 0, loss = 0;
  sockaddr_in client{};  // who asked last
  ArrivalTimes of_clients, of_server;
};

struct Packet {
  int64_t due = 0;
  size_t link = 0;
  bool is_answer = false;
  std::string bytes;
  bool operator<(const Packet& other) const { return due > other.due; }  // the earliest first
};

class Relay {
 public:
  Relay(const sockaddr_in& server, int64_t shift_ns) : server_(server), shift_ns_(shift_ns) {}

  bool add(const std::string& text, sockaddr_in address, int64_t start_ns, int64_t length_ns) {
    std::string part;
    std::vector<std::string> parts;
    for (std::istringstream in(text); std::getline(in, part, ',');) parts.push_back(part);
    if (parts.size() != 6) return false;
    Link link;
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(parts[0])));
    link.clock = VirtualClock::of(parts[1], start_ns, length_ns);
    link.forth_ns = std::stoll(parts[2]);
    link.back_ns = std::stoll(parts[3]);
    link.jitter_ns = std::stod(parts[4]);
    link.loss = std::stod(parts[5]);
    if (!link.clock) return false;
    link.clients = socketAt(address);
    address.sin_port = 0;
    link.server = socketAt(address);
    if (::connect(link.server, reinterpret_cast<const sockaddr*>(&server_), sizeof server_) != 0)
      die("clock_relay: connect");
    for (const int fd : {link.clients, link.server}) ArrivalTimes::enable(fd);
    links_.push_back(link);
    waiting_.push_back({link.clients, POLLIN, 0});
    waiting_.push_back({link.server, POLLIN, 0});
    for (const bool is_answer : {false, true}) takeAll(links_.size() - 1, is_answer);
    return true;
  }

  [[noreturn]] void run() {
    for (;;) {
      timespec patience{1, 0};
      if (!packets_.empty()) {
        const int64_t left = packets_.top().due - monotonicNs() - kSpinNs;
        patience = {0, std::clamp<int64_t>(left, 0, 500'000'000)};
      }
      const int ready = ::ppoll(waiting_.data(), waiting_.size(), &patience, nullptr);
      for (size_t i = 0; ready > 0 && i < waiting_.size(); ++i) {
        if ((waiting_[i].revents & (POLLIN | POLLERR)) != 0) takeAll(i / 2, i % 2 == 1);
      }
      while (!packets_.empty() && packets_.top().due <= monotonicNs()) {
        deliver(packets_.top());
        packets_.pop();
      }
    }
  }

 private:
  /// All packets that are there. They are due by the time that they came, so how late this process
  /// runs is no part of the delay, as long as that is longer.
  void takeAll(size_t index, bool is_answer) {
    while (take(index, is_answer)) {
    }
  }

  bool take(size_t index, bool is_answer) {
    Link& link = links_[index];
    char bytes[512];
    alignas(cmsghdr) char control[ArrivalTimes::kControlBytes];
    sockaddr_in from{};
    iovec into{bytes, sizeof bytes};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    int64_t came = 0;
    ArrivalTimes& arrivals = is_answer ? link.of_server : link.of_clients;
    const ssize_t got = arrivals.receive(is_answer ? link.server : link.clients, message, came);
    if (got < 0) return false;
    Packet packet;
    packet.due = came + (is_answer ? link.back_ns : link.forth_ns);
    packet.link = index;
    packet.is_answer = is_answer;
    packet.bytes.assign(bytes, static_cast<size_t>(got));
    if (!is_answer) link.client = from;
    if (link.loss > 0 && std::uniform_real_distribution<double>()(random_) < link.loss) return true;
    if (link.jitter_ns > 0) {
      const double more = std::exponential_distribution<double>(1 / link.jitter_ns)(random_);
      packet.due += static_cast<int64_t>(more);
    }
    if (is_answer) changeTimes(*link.clock, packet.bytes);
    packets_.push(std::move(packet));
    return true;
  }

  /// The server's times become those of the virtual clock.
  void changeTimes(const VirtualClock& clock, std::string& bytes) const {
    std::optional<ClockPacket> answer = ClockPacket::of(bytes);
    if (!answer) return;
    answer->received_there += clock.aheadAt(answer->received_there - shift_ns_);
    answer->sent_there += clock.aheadAt(answer->sent_there - shift_ns_);
    const auto changed = answer->bytes();
    bytes.assign(changed.data(), changed.size());
  }

  void deliver(const Packet& packet) {
    const Link& link = links_[packet.link];
    if (!packet.is_answer) {
      (void)::send(link.server, packet.bytes.data(), packet.bytes.size(), 0);
    } else {
      (void)::sendto(link.clients, packet.bytes.data(), packet.bytes.size(), 0,
                     reinterpret_cast<const sockaddr*>(&link.client), sizeof link.client);
    }
  }

  sockaddr_in server_;
  int64_t shift_ns_;
  std::vector<Link> links_;
  std::vector<pollfd> waiting_;
  std::priority_queue<Packet> packets_;
  std::mt19937_64 random_{11};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    fprintf(stderr,
            "usage: clock_relay ADDRESS SERVER_PORT SERVER_SHIFT_NS START_NS LENGTH_NS LINK...\n");
    return 2;
  }
  prctl(PR_SET_TIMERSLACK, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (::inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) return 2;
  sockaddr_in server = address;
  server.sin_port = htons(static_cast<uint16_t>(atoi(argv[2])));
  Relay relay(server, atoll(argv[3]));
  for (int i = 6; i < argc; ++i) {
    if (!relay.add(argv[i], address, atoll(argv[4]), atoll(argv[5]))) {
      fprintf(stderr, "clock_relay: '%s' is no link\n", argv[i]);
      return 2;
    }
  }
  puts("ready");
  fflush(stdout);
  relay.run();
}
