// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_connector.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"

namespace tracesmith {
namespace {

// The kernel's proc_event::what. Its header has the names inside the struct up to Linux 6.5, and
// outside of it since.
constexpr uint32_t kAnswer = 0, kFork = 1, kExec = 2, kExit = 0x80000000;

// The kernel charges about 1 KiB of the receive buffer per event (the whole sk_buff). So the buffer
// holds some thirty thousand events: seconds of a parallel build.
constexpr int kReceiveBytes = 32 << 20;
constexpr int64_t kAnswerTimeoutNs = 500'000'000;
constexpr size_t kDatagramBytes = 1024;  // header, cn_msg and proc_event are under 100 bytes
constexpr unsigned kBatch = 64;

Status sendOperation(int fd, proc_cn_mcast_op operation) {
  struct alignas(NLMSG_ALIGNTO) {
    nlmsghdr netlink;
    cn_msg connector;  // ends in a flexible array; the operation follows directly
  } header{};
  static_assert(sizeof header == sizeof(nlmsghdr) + sizeof(cn_msg));
  const uint32_t value = operation;
  std::array<char, sizeof header + sizeof value> message{};
  header.netlink.nlmsg_len = message.size();
  header.netlink.nlmsg_type = NLMSG_DONE;
  header.connector.id.idx = CN_IDX_PROC;
  header.connector.id.val = CN_VAL_PROC;
  header.connector.len = sizeof value;
  std::memcpy(message.data(), &header, sizeof header);
  std::memcpy(message.data() + sizeof header, &value, sizeof value);
  if (::send(fd, message.data(), message.size(), 0) < 0)
    return failErrno(errno, "cannot subscribe to the kernel's process events");
  return {};
}

}  // namespace

ProcessConnector::ProcessConnector(ProcessConnector&& other) noexcept { *this = std::move(other); }

ProcessConnector& ProcessConnector::operator=(ProcessConnector&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(lost_events_, other.lost_events_);
  std::swap(overruns_, other.overruns_);
  std::swap(next_sequence_, other.next_sequence_);
  std::swap(answered_, other.answered_);
  std::swap(answer_error_, other.answer_error_);
  return *this;
}

ProcessConnector::~ProcessConnector() {
  if (fd_ < 0) return;
  // Before Linux 6.6 the kernel counts subscriptions, not sockets: without this call it would
  // continue to create events without a listener.
  (void)sendOperation(fd_, PROC_CN_MCAST_IGNORE);
  ::close(fd_);
}

Result<ProcessConnector> ProcessConnector::open() {
  const int fd = ::socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
  if (fd < 0) {
    if (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT)
      return fail(ErrorCode::kUnsupported,
                  "this kernel has no process-event connector (CONFIG_PROC_EVENTS)");
    return failErrno(errno, "cannot open the kernel's process-event connector");
  }
  ProcessConnector connector(fd);
  // SO_RCVBUFFORCE needs CAP_NET_ADMIN; otherwise the size is limited by net.core.rmem_max.
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof kReceiveBytes) != 0)
    (void)::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  TS_CHECK_OK(connector.subscribe());
  return connector;
}

Status ProcessConnector::subscribe() {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = CN_IDX_PROC;
  if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EPERM || errno == EACCES)
      return fail(ErrorCode::kPermission,
                  "the kernel's process events need CAP_NET_ADMIN (root) before Linux 6.6");
    return failErrno(errno, "cannot bind to the kernel's process-event connector");
  }
  TS_CHECK_OK(sendOperation(fd_, PROC_CN_MCAST_LISTEN));
  return awaitAnswer();
}

Status ProcessConnector::awaitAnswer() {
  const int64_t deadline = monotonicNs() + kAnswerTimeoutNs;
  while (!answered_) {
    const int64_t left_ns = deadline - monotonicNs();
    if (left_ns <= 0)
      return fail(ErrorCode::kUnsupported,
                  "the kernel did not answer a subscription to its process events: built without "
                  "CONFIG_PROC_EVENTS, or this is a container (pid or user namespace)");
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(left_ns / 1'000'000) + 1) < 0 && errno != EINTR)
      return failErrno(errno, "cannot wait for the kernel's process events");
    // Events before the subscription's confirmation cannot be about descendants yet.
    TS_CHECK_OK(drain([](const ProcessEvent&) {}));
  }
  if (answer_error_ == EPERM)
    return fail(ErrorCode::kPermission, "the kernel's process events need CAP_NET_ADMIN (root)");
  if (answer_error_ != 0)
    return failErrno(answer_error_, "the kernel refused to report process events");
  return {};
}

Result<size_t> ProcessConnector::drain(const Callback& callback) {
  struct Slot {
    alignas(NLMSG_ALIGNTO) std::array<uint8_t, kDatagramBytes> bytes;
    sockaddr_nl sender;
    iovec part;
  };
  std::array<Slot, kBatch> slots;
  std::array<mmsghdr, kBatch> messages;
  size_t events = 0;
  const Callback counting = [&](const ProcessEvent& event) {
    ++events;
    callback(event);
  };
  for (;;) {
    for (size_t i = 0; i < kBatch; ++i) {
      slots[i].part = {slots[i].bytes.data(), kDatagramBytes};
      messages[i] = {};
      messages[i].msg_hdr.msg_name = &slots[i].sender;
      messages[i].msg_hdr.msg_namelen = sizeof slots[i].sender;
      messages[i].msg_hdr.msg_iov = &slots[i].part;
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int got = ::recvmmsg(fd_, messages.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == ENOBUFS) {  // reported once per overrun; queued events can still be read
        ++overruns_;
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return events;
      return failErrno(errno, "cannot read the kernel's process events");
    }
    for (int i = 0; i < got; ++i) {
      if (messages[i].msg_hdr.msg_namelen != sizeof(sockaddr_nl)) continue;
      if (slots[i].sender.nl_pid != 0) continue;  // accept messages from the kernel only
      const size_t bytes = std::min<size_t>(messages[i].msg_len, kDatagramBytes);
      decode(ByteView(slots[i].bytes).first(bytes), counting);
    }
    if (got == 0) return events;
  }
}

void ProcessConnector::decode(ByteView datagram, const Callback& callback) {
  // The fields up to the end of the exit event have existed since Linux 2.6.15; later kernels only
  // appended fields. Even short events have the full length, so one size is required for all.
  constexpr size_t kNeeded = offsetof(proc_event, event_data) + 16;
  while (datagram.size() >= sizeof(nlmsghdr) + sizeof(cn_msg)) {
    const auto netlink = loadFixed<nlmsghdr>(datagram.data());
    if (netlink.nlmsg_len < sizeof(nlmsghdr) + sizeof(cn_msg) ||
        netlink.nlmsg_len > datagram.size())
      return;
    const ByteView message =
        datagram.subspan(sizeof(nlmsghdr), netlink.nlmsg_len - sizeof(nlmsghdr));
    datagram = datagram.subspan(std::min<size_t>(NLMSG_ALIGN(netlink.nlmsg_len), datagram.size()));
    if (netlink.nlmsg_type == NLMSG_ERROR || netlink.nlmsg_type == NLMSG_NOOP) continue;

    cb_id id;
    uint32_t sequence;
    uint16_t length;
    std::memcpy(&id, message.data() + offsetof(cn_msg, id), sizeof id);
    std::memcpy(&sequence, message.data() + offsetof(cn_msg, seq), sizeof sequence);
    std::memcpy(&length, message.data() + offsetof(cn_msg, len), sizeof length);
    const ByteView body = message.subspan(sizeof(cn_msg));
    if (id.idx != CN_IDX_PROC || id.val != CN_VAL_PROC) continue;
    if (length > body.size() || length < kNeeded) continue;

    proc_event raw{};
    std::memcpy(&raw, body.data(), std::min<size_t>(length, sizeof raw));
    const auto what = static_cast<uint32_t>(raw.what);
    if (what == kAnswer) {
      answered_ = true;
      answer_error_ = static_cast<int>(raw.event_data.ack.err);
      continue;
    }
    const auto [expected, first] = next_sequence_.try_emplace(raw.cpu, sequence);
    // The numbers of one processor ascend, so a step back is not from the kernel: ignore it.
    const uint32_t gap = sequence - expected->second;
    if (gap < (1u << 31)) {
      if (!first) lost_events_ += gap;
      expected->second = sequence + 1;
    }

    ProcessEvent event;
    // The kernel's clock, which a time namespace shifts for its processes.
    event.time_ns = static_cast<int64_t>(raw.timestamp_ns) + ownClock().shift_ns;
    switch (what) {
      case kFork: {
        const auto& fork = raw.event_data.fork;
        event.kind = fork.child_pid == fork.child_tgid ? ProcessEvent::Kind::kFork
                                                       : ProcessEvent::Kind::kThreadStart;
        event.pid = static_cast<uint32_t>(fork.child_tgid);
        event.tid = static_cast<uint32_t>(fork.child_pid);
        event.parent_pid = static_cast<uint32_t>(fork.parent_tgid);
        break;
      }
      case kExec:
        event.kind = ProcessEvent::Kind::kExec;
        event.pid = static_cast<uint32_t>(raw.event_data.exec.process_tgid);
        event.tid = static_cast<uint32_t>(raw.event_data.exec.process_pid);
        break;
      case kExit:
        event.kind = ProcessEvent::Kind::kThreadEnd;
        event.pid = static_cast<uint32_t>(raw.event_data.exit.process_tgid);
        event.tid = static_cast<uint32_t>(raw.event_data.exit.process_pid);
        event.wait_status = static_cast<int>(raw.event_data.exit.exit_code);
        break;
      default:
        continue;  // uid, session, name, ptrace, core dump: not needed
    }
    callback(event);
  }
}

}  // namespace tracesmith
