// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#ifdef _WIN32
#include "tracesmith/base/windows/windows_file.hpp"
#else
#include <sys/ioctl.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tracesmith/cli/terminal/values.hpp"

namespace tracesmith::cli {
namespace {

constexpr int kMinWidth = 20;
constexpr int kMaxWidth = 1000;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

bool localeIsUtf8() {
#ifdef _WIN32
  return true;  // see prepareStandardStreams()
#else
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;  // an empty variable counts as unset (POSIX, 8.2)
    std::string lower(value);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
  }
  return false;
#endif
}

int detectWidth(bool out_is_terminal) {
  const auto columns = parseCount(environment("COLUMNS"), kMaxWidth);
  if (columns && *columns > 0) return std::max<int>(kMinWidth, static_cast<int>(*columns));
  if (!out_is_terminal) return 0;
  const int found = columnsOfTerminal(STDOUT_FILENO);
  return found > 0 ? std::clamp(found, kMinWidth, kMaxWidth) : 80;
}

}  // namespace

Terminal detectTerminal(bool no_colour) {
  Terminal terminal;
  terminal.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = isatty(STDERR_FILENO) == 1;
  const bool may_colour =
      !no_colour && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  terminal.colour = may_colour && terminal.out_is_terminal;
  terminal.err_colour = may_colour && terminal.err_is_terminal;
  // Files and pipes are read by programs that expect UTF-8, whatever the current locale is.
  terminal.utf8 = !terminal.out_is_terminal || localeIsUtf8();
  terminal.width = detectWidth(terminal.out_is_terminal);
  return terminal;
}

int columnsOfTerminal(int fd) {
#ifdef _WIN32
  return windows::consoleColumns(fd);
#else
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
#endif
}

void guardStandardStreams() {
#ifdef _WIN32
  windows::prepareStandardStreams();
#else
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // open() returns `fd` because it is the lowest free number: all lower ones are in use by now.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode | O_CLOEXEC) != fd) return;
  }
#endif
}

}  // namespace tracesmith::cli
