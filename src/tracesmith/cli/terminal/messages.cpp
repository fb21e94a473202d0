// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/exit_code.hpp"

namespace tracesmith::cli {

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

void say(std::string_view text) {
  BusyLine::clearShown();
  const std::string line = "tracesmith: " + printable(text) + "\n";
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // standard error is closed: there is no better place to report that
    done += static_cast<size_t>(n);
  }
}

void sayError(const Error& error) { say(error.toString()); }

void sayWarning(std::string_view text) { say(fmt::format("warning: {}", text)); }

int exitCodeFor(const Error& error) {
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailed;
}

int failWith(const Error& error) {
  sayError(error);
  return exitCodeFor(error);
}

}  // namespace tracesmith::cli
