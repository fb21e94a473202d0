// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/perf_map.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

namespace tracesmith {
namespace {

constexpr uint64_t kLargestFile = 1u << 30;

std::string_view word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view first = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(first.size());
  return first;
}

bool hexadecimal(std::string_view text, uint64_t& value) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

PerfMap PerfMap::parse(std::string_view text) {
  PerfMap map;
  while (!text.empty()) {
    const size_t end_of_line = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end_of_line);
    text.remove_prefix(std::min(end_of_line + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    uint64_t begin = 0;
    uint64_t size = 0;
    uint64_t end = 0;
    const bool numbers = hexadecimal(word(line), begin) && hexadecimal(word(line), size);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!numbers || size == 0 || line.empty() || __builtin_add_overflow(begin, size, &end)) {
      ++map.bad_lines_;
      continue;
    }
    map.names_.emplace_back(line);
    map.put(begin, end, static_cast<uint32_t>(map.names_.size() - 1));
  }
  return map;
}

void PerfMap::put(uint64_t begin, uint64_t end, uint32_t name) {
  auto it = pieces_.lower_bound(begin);
  if (it != pieces_.begin()) {
    const auto before = std::prev(it);
    if (before->second.end > begin) {
      const Piece old = before->second;
      before->second.end = begin;
      if (old.end > end) it = pieces_.emplace(end, old).first;
    }
  }
  while (it != pieces_.end() && it->first < end) {
    const Piece old = it->second;
    it = pieces_.erase(it);
    if (old.end > end) pieces_.emplace(end, old);
  }
  pieces_[begin] = {end, name};
}

std::string_view PerfMap::find(uint64_t address) const {
  auto it = pieces_.upper_bound(address);
  if (it == pieces_.begin()) return {};
  --it;
  return address < it->second.end ? std::string_view(names_[it->second.name]) : std::string_view{};
}

Result<PerfMap> PerfMap::load(const std::string& path) {
  // Anyone may create a pipe or a link in /tmp.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failErrno(errno, "cannot open", path);
  struct stat facts {};
  std::string text;
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) ||
      static_cast<uint64_t>(facts.st_size) > kLargestFile) {
    ::close(fd);
    return fail(ErrorCode::kUnsupported, "it is not a regular file, or it is too large", path);
  }
  text.resize(static_cast<size_t>(facts.st_size));
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(fd, text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<size_t>(n);
  }
  ::close(fd);
  text.resize(have);
  return parse(text);
}

}  // namespace tracesmith
