// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/busy_line.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/terminal.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);

/// Guards what stands on the terminal.
std::mutex& terminalMutex() {
  static std::mutex mutex;
  return mutex;
}
bool g_shown = false;

void draw(const std::string& text) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
}

void clearLocked() {
  if (g_shown) draw("\r\x1b[K");
  g_shown = false;
}

/// Columns of the terminal on standard error; a longer line could not be removed.
int widthOfLine() {
  const int columns = columnsOfTerminal(STDERR_FILENO);
  return columns > 0 ? std::max(columns, 2) : 80;
}

/// Signals are for the thread that works, not for one that is started here.
class SignalsHeldBack {
 public:
#ifdef _WIN32
  SignalsHeldBack() {}  // there, one has a thread of its own
#else
  SignalsHeldBack() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_;
#endif
};

}  // namespace

BusyLine::BusyLine(std::string what) : what_(printable(what)) {
  if (isatty(STDERR_FILENO) == 0) return;
  const SignalsHeldBack held_back;
  try {
    thread_ = std::thread([this] { show(); });
  } catch (const std::system_error&) {
    // Without a thread there is no line.
  }
}

void BusyLine::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
  clearShown();
}

void BusyLine::clearShown() {
  const std::lock_guard lock(terminalMutex());
  clearLocked();
}

void BusyLine::show() {
  std::unique_lock lock(mutex_);
  for (uint64_t seconds = 1; !changed_.wait_for(lock, kPatience, [&] { return ended_; });
       ++seconds) {
    const std::string text =
        cutToWidth(fmt::format("{} ({} s)", what_, seconds), widthOfLine() - 1, TerminalStyle{});
    const std::lock_guard terminal(terminalMutex());
    draw("\r\x1b[K" + text);
    g_shown = true;
  }
}

}  // namespace tracesmith::cli
