// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/studio_beside.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "tracesmith/cli/files/live_trace.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);

/// In a process group of its own, so that Ctrl-C reaches only the program that is recorded. Its
/// address goes to standard error, because standard output is the program's.
pid_t startStudio(const std::string& trace) {
  const char* const arguments[] = {"tracesmith", "studio", trace.c_str(), nullptr};
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process != 0) return process;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execv("/proc/self/exe", const_cast<char**>(arguments));
  _exit(127);
}

}  // namespace

StudioBeside::StudioBeside(std::string trace)
    : trace_(std::move(trace)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

StudioBeside::~StudioBeside() {
  thread_.request_stop();
  end();
}

/// The thread lives as long as the process, which would get the signal of a parent's death from it.
void StudioBeside::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && !FileState::of(livePath(trace_))) {
    std::this_thread::sleep_for(kPause);
  }
  if (!stop.stop_requested()) {
    const pid_t process = startStudio(trace_);
    if (process > 0) {
      process_ = process;
      if (stop.stop_requested()) end();
      waitpid(process, nullptr, 0);
      process_ = 0;
    }
  }
  ended_ = true;
}

void StudioBeside::end() {
  if (const pid_t process = process_; process > 0) kill(process, SIGTERM);
}

void StudioBeside::wait() {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  say("the program has ended; Studio goes on until Ctrl-C");
  constexpr timespec kStep{0, 200'000'000};
  while (!ended_ && sigtimedwait(&signals, nullptr, &kStep) < 0) {
  }
  thread_.request_stop();
  end();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tracesmith::cli
