// SPDX-License-Identifier: Apache-2.0
// The lines that a person typed at a prompt, kept in a file for the next session. A file that is
// damaged, unreadable or not writable only means that there is less history.
#pragma once

#include <string>
#include <vector>

namespace tracesmith::cli {

class LineHistory {
 public:
  /// A history without a file: it is empty and keeps nothing.
  LineHistory() = default;
  explicit LineHistory(std::string path) : path_(std::move(path)) {}

  /// The history `name` of this user: $XDG_STATE_HOME/tracesmith/NAME, by default below
  /// ~/.local/state (XDG Base Directory Specification).
  static LineHistory ofUser(const std::string& name);

  /// The newest entries, oldest first. Lines that no prompt can have written are left out. Also
  /// shortens a file that has become long.
  std::vector<std::string> load() const;

  /// Appends one line, with a single write(2), so that several prompts can share the file. Creates
  /// the file with mode 0600, and its folders with mode 0700.
  void append(const std::string& entry) const;

 private:
  void rewrite(const std::vector<std::string>& entries) const;

  std::string path_;
};

}  // namespace tracesmith::cli
