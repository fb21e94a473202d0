// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/demangle.hpp"

#include <cxxabi.h>
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tracesmith {
namespace {

constexpr size_t kLongestName = 64u << 10;
constexpr int kMostChildren = 8;

std::string plainly(const std::string& symbol) {
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string result = name == nullptr || std::strlen(name) > kLongestName ? symbol : name;
  std::free(name);
  return result;
}

/// Whether the demangled name must be short: each reference at most doubles it, and each pack
/// expansion repeats it at most once per byte of the symbol.
bool staysShort(std::string_view symbol) {
  double bound = static_cast<double>(symbol.size()) * 16;
  for (size_t i = 0; i + 1 < symbol.size(); ++i) {
    const char c = symbol[i];
    const char next = symbol[i + 1];
    if ((c == 'S' || c == 'T') && (next == '_' || (next >= '0' && next <= '9') ||
                                   (next >= 'A' && next <= 'Z') || next == 'L')) {
      bound *= 2;
    }
    const std::string_view two = symbol.substr(i, 2);
    if (two == "Dp" || two == "sp" || two == "sZ" || two == "fp") {
      bound *= static_cast<double>(symbol.size());
    }
  }
  return bound < 4e6;
}

bool writeAll(int fd, const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool readAll(int fd, void* data, size_t size) {
  char* p = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::read(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

/// In the child: writes length and name of each symbol, with a tenth of a second for each.
[[noreturn]] void answer(int fd, std::span<const std::string*> symbols) {
  ::signal(SIGPROF, SIG_DFL);
  for (const std::string* const symbol : symbols) {
    itimerval limit{};
    limit.it_value.tv_usec = 100'000;
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    const std::string name = plainly(*symbol);
    const auto length = static_cast<uint32_t>(name.size());
    if (!writeAll(fd, &length, sizeof length) || !writeAll(fd, name.data(), name.size())) break;
  }
  ::_exit(0);
}

/// Returns as many names as arrived before the child ended.
size_t inChild(std::span<const std::string*> symbols, std::vector<std::string>& names) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1], symbols);
  }
  ::close(ends[1]);
  size_t done = 0;
  while (child > 0 && done < symbols.size()) {
    uint32_t length = 0;
    if (!readAll(ends[0], &length, sizeof length) || length > kLongestName) break;
    std::string name(length, '\0');
    if (!readAll(ends[0], name.data(), length)) break;
    names.push_back(std::move(name));
    ++done;
  }
  ::close(ends[0]);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return done;
}

}  // namespace

std::vector<std::string> demangled(std::span<const std::string> symbols) {
  std::vector<std::string> names(symbols.begin(), symbols.end());
  std::vector<const std::string*> doubtful;
  std::vector<size_t> places;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!symbols[i].starts_with("_Z")) continue;
    if (staysShort(symbols[i])) {
      names[i] = plainly(symbols[i]);
    } else if (symbols[i].size() <= kLongestName) {
      doubtful.push_back(&symbols[i]);
      places.push_back(i);
    }
  }
  std::span<const std::string*> rest(doubtful);
  size_t at = 0;
  for (int child = 0; child < kMostChildren && !rest.empty(); ++child) {
    std::vector<std::string> got;
    const size_t done = inChild(rest, got);
    for (size_t i = 0; i < done; ++i) names[places[at + i]] = std::move(got[i]);
    // Skip the symbol that ended the child.
    const size_t passed = done < rest.size() ? done + 1 : done;
    at += passed;
    rest = rest.subspan(passed);
  }
  return names;
}

}  // namespace tracesmith
