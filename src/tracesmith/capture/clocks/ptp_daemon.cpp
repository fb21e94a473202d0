// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/ptp_daemon.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/clocks/udp_socket.hpp"

namespace tracesmith {
namespace {

constexpr std::string_view kSocket = "/var/run/ptp4l", kReadOnlySocket = "/var/run/ptp4lro";
constexpr int64_t kPatienceNs = 100'000'000;  // it is on this host
constexpr int kDomains = 128;                 // of IEEE 1588; numbers above are reserved
constexpr size_t kMostAnswers = 64;           // one for each port, as a rule

sockaddr_un addressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// A socket that is connected to ptp4l's, and removes its own file, if it has one.
class PtpSocket {
 public:
  /// `own`: path of the socket's own address, without which ptp4l could not answer; "": one that
  /// the system chooses and that leaves no file, but holds in one network namespace only.
  static Result<std::unique_ptr<PtpSocket>> open(const std::string& path, const std::string& own) {
    std::unique_ptr<PtpSocket> socket(new PtpSocket);
    const sockaddr_un to = addressOf(path), from = addressOf(own);
    if (std::max(path.size(), own.size()) >= sizeof to.sun_path) {
      return fail(ErrorCode::kInvalidArgument, "is too long for the path of a socket", path);
    }
    socket->fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!own.empty()) ::unlink(own.c_str());  // of a process of this number that was killed
    const socklen_t size = own.empty() ? sizeof from.sun_family : sizeof from;
    if (socket->fd_ >= 0 &&
        ::bind(socket->fd_, reinterpret_cast<const sockaddr*>(&from), size) == 0) {
      socket->own_ = own;
      if (::connect(socket->fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
        return socket;
      }
    }
    const int error = errno;
    if (error == EACCES || error == EPERM) {
      return fail(ErrorCode::kPermission,
                  "ptp4l's socket cannot be used: permission denied; run as root", path);
    }
    if (error == ENOENT || error == ECONNREFUSED) {
      return fail(ErrorCode::kNotFound,
                  "no ptp4l listens there; its option uds_address says where it does", path);
    }
    return failErrno(error, "ptp4l's socket cannot be used", path);
  }
  ~PtpSocket() {
    if (fd_ >= 0) ::close(fd_);
    if (!own_.empty()) ::unlink(own_.c_str());
  }
  PtpSocket(const PtpSocket&) = delete;
  PtpSocket& operator=(const PtpSocket&) = delete;
  int fd() const { return fd_; }

 private:
  PtpSocket() = default;
  int fd_ = -1;
  std::string own_;
};

class PtpClient {
 public:
  explicit PtpClient(int fd) : fd_(fd) {}

  /// The answers of all ports to a question for a data set, until there are `count`, or patience is
  /// over. An error of the daemon is one of them.
  std::vector<std::string> ask(PtpDataSet data_set, size_t count) {
    const uint16_t sequence = sequence_++;
    std::vector<std::string> answers;
    const int64_t deadline = monotonicNs() + kPatienceNs;
    if (!send(ptpQuestion(data_set, domain_, sequence), deadline)) return answers;
    while (answers.size() < count) {
      std::optional<std::string> bytes = receive(deadline);
      if (!bytes) break;
      const Result<PtpAnswer> answer = parsePtpAnswer(*bytes);
      if (!answer || answer->sequence != sequence || answer->data_set != data_set) continue;
      answers.push_back(std::move(*bytes));
    }
    return answers;
  }

  /// Whether the daemon answers in some domain; from then on questions are for that one. A daemon
  /// ignores those for others, so the common domain is tried first, and then all at once.
  bool findDomain() {
    if (!ask(PtpDataSet::kDefault, 1).empty()) return true;
    const uint16_t sequence = sequence_++;
    const int64_t deadline = monotonicNs() + 2 * kPatienceNs;
    for (int domain = 1; domain < kDomains; ++domain) {
      const auto number = static_cast<uint8_t>(domain);
      if (!send(ptpQuestion(PtpDataSet::kDefault, number, sequence), deadline)) return false;
    }
    while (const std::optional<std::string> bytes = receive(deadline)) {
      const Result<PtpAnswer> answer = parsePtpAnswer(*bytes);
      if (!answer || answer->sequence != sequence) continue;
      domain_ = answer->domain;
      return true;
    }
    return false;
  }

 private:
  /// The socket's queue is short (net.unix.max_dgram_qlen): waits until the daemon has read.
  bool send(const std::string& bytes, int64_t deadline) {
    for (;;) {
      if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0) return true;
      if ((errno != EAGAIN && errno != EINTR) || !waitFor(POLLOUT, deadline)) return false;
    }
  }
  std::optional<std::string> receive(int64_t deadline) {
    std::array<char, 2048> bytes{};
    for (;;) {
      const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (got >= 0) return std::string(bytes.data(), static_cast<size_t>(got));
      if ((errno != EAGAIN && errno != EINTR) || !waitFor(POLLIN, deadline)) return std::nullopt;
    }
  }
  bool waitFor(short events, int64_t deadline) const {
    const int64_t left = deadline - monotonicNs();
    pollfd waiting{fd_, events, 0};
    return left > 0 && ::poll(&waiting, 1, static_cast<int>(left / 1'000'000) + 1) >= 0;
  }

  int fd_;
  uint8_t domain_ = 0;
  uint16_t sequence_ = static_cast<uint16_t>(newNonce());
};

Result<PtpStatus> askAt(const std::string& path) {
  TS_TRY(std::unique_ptr<PtpSocket> socket, PtpSocket::open(path, ""));
  PtpClient client(socket->fd());
  if (!client.findDomain()) {
    // One in another network namespace can answer only to a file, which it must be able to see.
    const std::string own = path + "-tracesmith-" + std::to_string(::getpid());
    Result<std::unique_ptr<PtpSocket>> by_file = PtpSocket::open(path, own);
    if (by_file) {
      client = PtpClient((*by_file)->fd());
      socket = std::move(*by_file);
    }
    if (!by_file || !client.findDomain()) {
      return fail(ErrorCode::kIo, "ptp4l does not answer; see what it says in its log", path);
    }
  }
  PtpStatus status;
  const auto take = [&](PtpDataSet data_set, size_t count) -> Result<size_t> {
    const std::vector<std::string> answers = client.ask(data_set, count);
    size_t taken = 0;
    for (const std::string& bytes : answers) {
      const Result<PtpAnswer> answer = parsePtpAnswer(bytes);
      if (!answer || answer->is_error) continue;
      TS_CHECK_OK(takePtpDataSet(*answer, status));
      ++taken;
    }
    return taken;
  };
  for (const PtpDataSet data_set :
       {PtpDataSet::kDefault, PtpDataSet::kCurrent, PtpDataSet::kParent}) {
    TS_TRY(const size_t taken, take(data_set, 1));
    if (taken == 0) {
      return fail(ErrorCode::kIo, "ptp4l does not tell its state; see what it says in its log",
                  path);
    }
  }
  // Older versions of ptp4l do not have all of these.
  for (const PtpDataSet data_set : {PtpDataSet::kTimeProperties, PtpDataSet::kTimeStatus}) {
    TS_CHECK_OK(take(data_set, 1));
  }
  const size_t ports = std::clamp<size_t>(status.port_count, 1, kMostAnswers);
  TS_CHECK_OK(take(PtpDataSet::kPort, ports));
  TS_CHECK_OK(take(PtpDataSet::kPortProperties, ports));
  return status;
}

}  // namespace

Result<PtpStatus> askPtpDaemon(const std::string& socket) {
  if (!socket.empty()) return askAt(socket);
  Result<PtpStatus> status = askAt(std::string(kSocket));
  if (!status && status.error().code == ErrorCode::kPermission) {
    Result<PtpStatus> read_only = askAt(std::string(kReadOnlySocket));
    if (read_only) return read_only;
  }
  return status;
}

}  // namespace tracesmith
