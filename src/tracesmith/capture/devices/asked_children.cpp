// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/devices/asked_children.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith {
namespace {

constexpr size_t kMaxReplyBytes = 4u << 20;

struct Child {
  ChildReply reply;
  pid_t pid = -1;
  int fd = -1;
  bool done = false;
};

/// A killed caller's files must not stay open, and locked, in a driver that hangs.
void closeFilesExcept(int kept) {
#ifdef SYS_close_range
  if (kept > 3) (void)syscall(SYS_close_range, 3U, static_cast<unsigned>(kept - 1), 0U);
  if (syscall(SYS_close_range, static_cast<unsigned>(std::max(kept + 1, 3)), ~0U, 0U) == 0) return;
#endif
  const int most = std::min<int>(static_cast<int>(::sysconf(_SC_OPEN_MAX)), 4096);
  for (int fd = 3; fd < most; ++fd) {
    if (fd != kept) ::close(fd);
  }
}

[[noreturn]] void childMain(int reply_fd, const std::function<Bytes()>& question,
                            int64_t timeout_ms) {
  // Drivers print messages, which must not appear in the caller's streams.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) ::dup2(null, fd);
  closeFilesExcept(reply_fd);
  // A driver that spins in a call must end even if the parent, which would kill it, is killed
  // first. The caller's signal handlers (or a sanitizer's) must not make a crash look like an exit.
  for (const int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::alarm(static_cast<unsigned>(timeout_ms / 1000 + 2));
  ::unsetenv(kCudaInjection);  // otherwise the driver loads an agent here
  const Bytes reply = question();
  size_t written = 0;
  while (written < reply.size()) {
    const ssize_t n = ::write(reply_fd, reply.data() + written, reply.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  ::_exit(0);  // not exit(): drivers' destructors hang, too
}

void begin(Child& child, const std::function<Bytes()>& question, int64_t timeout_ms) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    child.reply.failure = ::strerror(errno);
    child.done = true;
    return;
  }
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    childMain(ends[1], question, timeout_ms);
  }
  ::close(ends[1]);
  child.fd = ends[0];
  if (child.pid < 0) {
    child.reply.failure = ::strerror(errno);
    child.done = true;
  }
}

/// Reads available bytes; sets `done` at the end of the stream.
void readSome(Child& child) {
  uint8_t buffer[65536];
  const ssize_t n = ::read(child.fd, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0) child.reply.bytes.insert(child.reply.bytes.end(), buffer, buffer + n);
  if (n <= 0 || child.reply.bytes.size() > kMaxReplyBytes) child.done = true;
}

void end(Child& child, int64_t timeout_ms) {
  if (child.fd >= 0) ::close(child.fd);
  if (child.pid < 0) return;
  if (!child.done) ::kill(child.pid, SIGKILL);
  // A child that has closed its pipe may still hang in its driver: kill it after a while.
  int status = 0;
  bool has_ended = false;
  for (int i = 0; i < 1100 && !has_ended; ++i) {
    has_ended = ::waitpid(child.pid, &status, WNOHANG) != 0;
    if (i == 100) ::kill(child.pid, SIGKILL);
    if (!has_ended) ::usleep(1000);
  }
  if (!has_ended) {  // within the kernel, where no signal reaches it
    child.reply.problem = "does not end: its driver hangs";
  } else if (!child.done) {
    child.reply.problem =
        fmt::format("did not answer within {} s", static_cast<double>(timeout_ms) / 1000);
  } else if (WIFSIGNALED(status)) {
    child.reply.problem =
        fmt::format("crashed when it was asked for devices ({})", ::strsignal(WTERMSIG(status)));
  } else {
    child.reply.problem = "ended the process that asked it";
  }
}

}  // namespace

std::vector<ChildReply> askInChildren(const std::vector<std::function<Bytes()>>& questions,
                                      int64_t timeout_ms) {
  std::vector<Child> children(questions.size());
  for (size_t i = 0; i < questions.size(); ++i) begin(children[i], questions[i], timeout_ms);
  const int64_t deadline = monotonicNs() + timeout_ms * 1'000'000;
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Child*> whose;
    for (Child& child : children) {
      if (child.done) continue;
      waiting.push_back({child.fd, POLLIN, 0});
      whose.push_back(&child);
    }
    const int64_t left_ns = deadline - monotonicNs();
    if (waiting.empty() || left_ns <= 0) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left_ns / 1'000'000) + 1);
    for (size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i].revents != 0) readSome(*whose[i]);
  }
  std::vector<ChildReply> replies;
  for (Child& child : children) {
    end(child, timeout_ms);
    replies.push_back(std::move(child.reply));
  }
  return replies;
}

}  // namespace tracesmith
