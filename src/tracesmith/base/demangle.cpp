// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/demangle.hpp"

#include <cxxabi.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#ifdef _WIN32
#include <csetjmp>
#include <ctime>
#else
#include <sys/time.h>
#include <sys/wait.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#ifdef TRACESMITH_LIBIBERTY
// Of libiberty, whose header has macros with ordinary names. nullptr: not such a symbol.
extern "C" char* cplus_demangle_v3(const char* symbol, int options);
extern "C" int cplus_demangle_v3_callback(const char* symbol, int options,
                                          void (*add)(const char*, size_t, void*), void* to);
#elif defined(_WIN32)
#error "libiberty is needed on Windows"
#endif

namespace tracesmith {
namespace {

constexpr size_t kLongestName = 64u << 10;
constexpr int kMostChildren = 8;
[[maybe_unused]] constexpr int kOptions = 1 << 0 | 1 << 4;  // DMGL_PARAMS, DMGL_TYPES

std::string plainly(const std::string& symbol) {
#ifdef TRACESMITH_LIBIBERTY
  char* const name = cplus_demangle_v3(symbol.c_str(), kOptions);
#else
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
#endif
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

#ifdef _WIN32

// A process cannot be copied there. Instead the demangler hands over the name piece by piece, and
// is left by a jump as soon as it is too long or takes too long; it holds no memory then.
struct NameInPieces {
  std::string text;
  std::clock_t begin = std::clock();
  std::jmp_buf too_much;
};

void addPiece(const char* piece, size_t size, void* to) {
  auto* const name = static_cast<NameInPieces*>(to);
  if (name->text.size() + size > kLongestName || std::clock() - name->begin > CLOCKS_PER_SEC / 10) {
    std::longjmp(name->too_much, 1);
  }
  name->text.append(piece, size);
}

std::string inPieces(const std::string& symbol) {
  NameInPieces name;
  if (setjmp(name.too_much) != 0) return symbol;
  const int known = cplus_demangle_v3_callback(symbol.c_str(), kOptions, addPiece, &name);
  return known != 0 ? name.text : symbol;
}

size_t withinLimits(std::span<const std::string*> symbols, std::vector<std::string>& names) {
  for (const std::string* const symbol : symbols) names.push_back(inPieces(*symbol));
  return names.size();
}

#else

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

/// Returns as many names as arrived before the child that decodes them ended.
size_t withinLimits(std::span<const std::string*> symbols, std::vector<std::string>& names) {
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

#endif

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
    const size_t done = withinLimits(rest, got);
    for (size_t i = 0; i < done; ++i) names[places[at + i]] = std::move(got[i]);
    // Skip the symbol that ended the child.
    const size_t passed = done < rest.size() ? done + 1 : done;
    at += passed;
    rest = rest.subspan(passed);
  }
  return names;
}

}  // namespace tracesmith
