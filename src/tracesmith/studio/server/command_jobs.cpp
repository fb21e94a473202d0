// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/command_jobs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tracesmith::studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostMessages = 64 << 10;
constexpr size_t kJobsKept = 4;
constexpr int kPollMs = 50;

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    closeEnd(0);
    closeEnd(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void closeWriter() { closeEnd(1); }
  void closeReader() { closeEnd(0); }

 private:
  void closeEnd(size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

/// What execve() takes, made before the fork: the child of a process with threads may not allocate.
class Pointers {
 public:
  explicit Pointers(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

/// The environment, with another folder for temporary files.
std::vector<std::string> environmentWith(const std::string& temporary) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (strncmp(*entry, "TMPDIR=", 7) != 0) out.emplace_back(*entry);
  }
  if (!temporary.empty()) out.push_back("TMPDIR=" + temporary);
  return out;
}

[[noreturn]] void beCommand(char** arguments, char** environment, pid_t parent, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  syscall(SYS_close_range, 3U, ~0U, kCloseOnExec);
#endif
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

/// Appends what is there to read; closes the pipe at its end.
void readSome(Pipe& pipe, std::string& text) {
  std::array<char, 64 << 10> buffer;
  const ssize_t n = read(pipe.reader(), buffer.data(), buffer.size());
  if (n > 0) {
    text.append(buffer.data(), static_cast<size_t>(n));
  } else if (n == 0 || errno != EINTR) {
    pipe.closeReader();
  }
}

void limit(Job& job) {
  if (job.output.size() > CommandJobs::kMostOutput) job.output_whole = false;
  if (!job.output_whole) job.output.clear();
  if (job.messages.size() > 2 * kMostMessages) {
    job.messages.erase(0, job.messages.size() - kMostMessages);
  }
}

bool hasEnded(pid_t process) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == process;
}

/// Reads what the command writes until it has ended.
void follow(pid_t process, Pipe& out, Pipe& err, Job& job) {
  bool ended = false;
  while (out.reader() >= 0 || err.reader() >= 0 || !ended) {
    std::array<pollfd, 2> ready{{{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), ended ? 0 : kPollMs) > 0) {
      if (ready[0].revents != 0) readSome(out, job.output);
      if (ready[1].revents != 0) readSome(err, job.messages);
    } else if (ended) {
      break;  // everything is read
    }
    limit(job);
    if (!ended && hasEnded(process)) {
      ended = true;
      kill(-process, SIGKILL);  // what it left behind; its number is taken until it is reaped
    }
  }
}

}  // namespace

/// The process of the running job.
struct CommandJobs::Running {
  const uint64_t id;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;
  pid_t process = 0;  // 0: not started yet, or ended and reaped
  bool cancelled = false;

  explicit Running(uint64_t job) : id(job) {}

  void cancel() {
    const std::lock_guard lock(mutex);
    cancelled = true;
    if (process > 0) kill(-process, SIGKILL);
  }

  /// The started process; -1: there is none.
  pid_t spawn(const Job& job, const std::string& temporary, const Pipe& out, const Pipe& err) {
    std::vector<std::string> texts = {"tracesmith"};
    texts.insert(texts.end(), job.arguments.begin(), job.arguments.end());
    Pointers arguments(std::move(texts));
    Pointers environment(environmentWith(temporary));
    const std::lock_guard lock(mutex);
    if (cancelled || out.writer() < 0 || err.writer() < 0) return -1;
    const pid_t parent = getpid();
    const pid_t started = fork();
    if (started == 0) {
      beCommand(arguments.data(), environment.data(), parent, out.writer(), err.writer());
    }
    if (started > 0) {
      setpgid(started, started);  // the child does it, too; one of them is first
      process = started;
    }
    return started;
  }

  /// Notes how the process has ended.
  void reap(Job& job) {
    const std::lock_guard lock(mutex);
    int status = 0;
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (process > 0 && WIFEXITED(status)) job.exit_code = WEXITSTATUS(status);
    if (process > 0 && WIFSIGNALED(status)) job.signal = WTERMSIG(status);
    process = 0;
    job.state = cancelled ? JobState::kCancelled : JobState::kFinished;
  }
};

CommandJobs::~CommandJobs() {
  {
    const std::lock_guard lock(mutex_);
    if (running_) running_->cancel();
  }
  if (thread_.joinable()) thread_.join();
}

Job* CommandJobs::known(uint64_t id) {
  for (Job& job : jobs_) {
    if (job.id == id) return &job;
  }
  return nullptr;
}

Result<uint64_t> CommandJobs::start(const std::string& what, const Arguments& arguments) {
  const std::lock_guard lock(mutex_);
  if (running_) {
    return fail(ErrorCode::kPermission, "another run has not ended; wait for it, or cancel it",
                jobs_.back().what);
  }
  if (thread_.joinable()) thread_.join();  // the thread of an ended job does nothing more
  Job job;
  job.id = ++last_id_;
  job.what = what;
  job.folder = std::make_shared<ScratchFolder>();
  job.arguments = arguments(job.folder->path());
  jobs_.push_back(job);
  if (jobs_.size() > kJobsKept) jobs_.pop_front();
  running_ = std::make_shared<Running>(job.id);
  thread_ = std::thread([this, running = running_, job = std::move(job)] { run(running, job); });
  return last_id_;
}

template <class Wanted>
std::optional<Job> CommandJobs::lastOf(const Wanted& wanted) const {
  const std::lock_guard lock(mutex_);
  const auto job = std::find_if(jobs_.rbegin(), jobs_.rend(), wanted);
  if (job == jobs_.rend()) return std::nullopt;
  Job out = *job;
  if (running_ && running_->id == out.id) {
    out.seconds = std::chrono::duration<double>(Clock::now() - running_->start).count();
  }
  return out;
}

std::optional<Job> CommandJobs::find(uint64_t id) const {
  return lastOf([id](const Job& job) { return job.id == id; });
}

std::optional<Job> CommandJobs::newest(const std::string& what) const {
  return lastOf([&](const Job& job) { return job.what == what; });
}

void CommandJobs::cancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  if (running_ && running_->id == id) running_->cancel();
}

/// Runs on a thread of its own until the command has ended: the death of the thread that forked is
/// the death of the parent for PR_SET_PDEATHSIG.
void CommandJobs::run(const std::shared_ptr<Running>& running, Job job) {
  {
    const ScratchFolder temporary;  // removed with what a killed command left in it
    Pipe out;
    Pipe err;
    const pid_t process = running->spawn(job, temporary.path(), out, err);
    out.closeWriter();
    err.closeWriter();
    if (process > 0) {
      follow(process, out, err, job);
    } else {
      job.messages = "the system does not let this process start another one";
    }
    running->reap(job);
  }
  job.seconds = std::chrono::duration<double>(Clock::now() - running->start).count();
  const std::lock_guard lock(mutex_);
  if (Job* kept = known(job.id)) *kept = std::move(job);
  running_ = nullptr;
}

}  // namespace tracesmith::studio
