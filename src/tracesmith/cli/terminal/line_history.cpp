// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/line_history.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith::cli {
namespace {

constexpr size_t kKept = 1000;
constexpr size_t kMostEntryBytes = 64 << 10;
constexpr size_t kMostFileBytes = 4 << 20;

bool isEntry(std::string_view line) {
  return !line.empty() && line.size() <= kMostEntryBytes && tracesmith::printable(line) == line;
}

/// Opens a regular file of this user; -1 otherwise. O_NONBLOCK: a pipe of that name must not block.
int openOwn(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0) return -1;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
    if ((status.st_mode & 0077) != 0) (void)fchmod(fd, 0600);
    return fd;
  }
  close(fd);
  return -1;
}

void makeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);  // fails harmlessly where there is one
  }
}

}  // namespace

LineHistory LineHistory::ofUser(const std::string& name) {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') {
    return LineHistory(std::string(state) + "/tracesmith/" + name);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return LineHistory(std::string(home) + "/.local/state/tracesmith/" + name);
}

std::vector<std::string> LineHistory::load() const {
  std::vector<std::string> entries;
  if (path_.empty()) return entries;
  const int fd = openOwn(path_, O_RDONLY);
  if (fd < 0) return entries;
  // The newest entries are at the end. A cut first line is no entry of the user.
  const off_t size = lseek(fd, 0, SEEK_END);
  const off_t begin_at = std::max<off_t>(size - static_cast<off_t>(kMostFileBytes), 0);
  const bool seeked = size >= 0 && lseek(fd, begin_at, SEEK_SET) == begin_at;
  std::optional<std::string> text;
  if (seeked) text = readFileText(fd, kMostFileBytes);
  close(fd);
  if (!text) return entries;
  if (begin_at > 0) text->erase(0, text->find('\n') + 1);
  size_t lines = 0;
  for (size_t begin = 0; begin < text->size(); ++lines) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view line = std::string_view(*text).substr(begin, end - begin);
    if (isEntry(line)) entries.emplace_back(line);
    begin = end + 1;
  }
  if (entries.size() > kKept) {
    entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(kKept));
  }
  if (lines > 2 * kKept || begin_at > 0) {
    // To half of the limit, so that not every start rewrites the file.
    size_t bytes = 0;
    auto first = entries.end();
    while (first != entries.begin() && bytes + std::prev(first)->size() < kMostFileBytes / 2) {
      bytes += (--first)->size() + 1;
    }
    entries.erase(entries.begin(), first);
    rewrite(entries);
  }
  return entries;
}

void LineHistory::append(const std::string& entry) const {
  if (path_.empty() || !isEntry(entry)) return;
  makeFolders(path_);
  const int fd = openOwn(path_, O_WRONLY | O_APPEND | O_CREAT);
  if (fd < 0) return;
  const std::string line = entry + "\n";
  [[maybe_unused]] const ssize_t written = write(fd, line.data(), line.size());
  close(fd);
}

/// Replaces the file in one step, so that another prompt reads the old or the new one.
void LineHistory::rewrite(const std::vector<std::string>& entries) const {
  std::string text;
  for (const std::string& entry : entries) text += entry + "\n";
  std::string temporary = path_ + ".XXXXXX";
  const int fd = mkstemp(temporary.data());  // mode 0600
  if (fd < 0) return;
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (!whole || rename(temporary.c_str(), path_.c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tracesmith::cli
