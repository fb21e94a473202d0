// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/file_text.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace tracesmith {

std::optional<std::string> readFileText(int fd, size_t limit) {
  constexpr size_t kFirstBytes = 4096;
  std::string text;
  while (text.size() < limit) {
    const size_t at = text.size();
    text.resize(at + std::min(limit - at, std::max(kFirstBytes, at)));
    const ssize_t got = ::read(fd, text.data() + at, text.size() - at);
    text.resize(at + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
  }
  return text;
}

std::optional<std::string> readFileText(const std::string& path, size_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text = readFileText(fd, limit);
  ::close(fd);
  return text;
}

}  // namespace tracesmith
