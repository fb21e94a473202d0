// SPDX-License-Identifier: Apache-2.0
// A line on standard error that is rewritten in place; only on terminals.
#pragma once

#include <unistd.h>

#include <string>

namespace tracesmith::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) {
    if (!shown_) return;
    used_ = true;
    write("\r\x1b[K" + text);
  }
  void clear() {
    if (used_) write("\r\x1b[K");
    used_ = false;
  }

 private:
  static void write(const std::string& text) {
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
  }
  bool shown_;
  bool used_ = false;
};

}  // namespace tracesmith::cli
