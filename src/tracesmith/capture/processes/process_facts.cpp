// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_facts.hpp"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"

namespace tracesmith {
namespace {

constexpr size_t kMaxEnvironmentBytes = 8u << 20;
// A program that rewrites its title leaves NULs in the rest of its arguments. Nobody passes this
// many empty arguments at the end on purpose.
constexpr size_t kTitlePadding = 8;
constexpr int kExecTries = 10;

std::string procPath(uint32_t pid, const char* name) {
  return fmt::format("/proc/{}/{}", pid, name);
}

std::string readLink(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
  target.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return target;
}

template <class T>
bool parseNumber(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

/// The last number of the line "NSpid:\t…" of /proc/PID/status: the pid in the innermost namespace.
uint32_t innermostPid(uint32_t pid) {
  const auto status = readFileText(procPath(pid, "status"), 8192);
  if (!status) return 0;
  const size_t at = status->find("\nNSpid:");
  if (at == std::string::npos) return 0;
  const size_t end = status->find('\n', at + 1);
  const std::string_view line = std::string_view(*status).substr(at, end - at);
  uint32_t inner = 0;
  return parseNumber(line.substr(line.find_last_of("\t :") + 1), inner) ? inner : 0;
}

/// Length of the UTF-8 sequence at the start of `text`; 0 when there is none (RFC 3629).
size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < n) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const uint8_t second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : n;
}

bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr("_@%+=:,./-", c) != nullptr;
}

}  // namespace

std::optional<ProcessStat> parseProcessStat(std::string_view text) {
  // "PID (COMM) S PPID …": COMM may hold spaces, newlines and parentheses, the rest may not.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  ProcessStat stat;
  stat.comm = std::string(text.substr(open + 1, close - open - 1));
  std::string_view rest = text.substr(close + 1);
  for (int field = 3; field <= 51; ++field) {
    const size_t begin = rest.find_first_not_of(" \n");
    if (begin == std::string_view::npos) {
      if (field > 22) break;
      return std::nullopt;
    }
    const size_t end = std::min(rest.find_first_of(" \n", begin), rest.size());
    const std::string_view word = rest.substr(begin, end - begin);
    rest = rest.substr(end);
    bool good = true;
    if (field == 3) stat.state = word[0];
    if (field == 4) good = parseNumber(word, stat.parent_pid);
    if (field == 20) good = parseNumber(word, stat.threads);
    if (field == 22) good = parseNumber(word, stat.start_ticks);
    if (field == 51) good = parseNumber(word, stat.environment_end);
    if (!good) return std::nullopt;
  }
  return stat;
}

Result<ProcessStat> readProcessStat(uint32_t pid) {
  const std::string path = procPath(pid, "stat");
  const auto text = readFileText(path, 4096);
  if (!text || text->empty()) return fail(ErrorCode::kNotFound, "there is no such process", path);
  auto stat = parseProcessStat(*text);
  if (!stat) return fail(ErrorCode::kIo, "unexpected contents of a file in /proc", path);
  return std::move(*stat);
}

std::string liveProcPath(uint32_t pid, const char* name) {
  const auto stat = readProcessStat(pid);
  if (!stat || stat->state != 'Z' || stat->threads < 2) return procPath(pid, name);
  std::string path = procPath(pid, name);
  DIR* tasks = ::opendir(procPath(pid, "task").c_str());
  if (tasks == nullptr) return path;
  while (const dirent* entry = ::readdir(tasks)) {
    uint32_t tid = 0;
    if (!parseNumber(std::string_view(entry->d_name), tid) || tid == pid) continue;
    path = fmt::format("/proc/{}/task/{}/{}", pid, tid, name);
    break;
  }
  ::closedir(tasks);
  return path;
}

Result<ProcessFacts> readProcessFacts(uint32_t pid) {
  TS_TRY(const ProcessStat stat, readProcessStat(pid));
  ProcessFacts facts;
  facts.pid = pid;
  facts.ppid = stat.parent_pid;
  facts.start_ticks = stat.start_ticks;
  facts.start_ns = startTicksToMonotonicNs(stat.start_ticks);
  facts.threads = stat.threads;
  facts.zombie = !stat.runs();
  facts.boot_id = bootId();

  facts.executable = readLink(liveProcPath(pid, "exe"));
  auto arguments = readFileText(liveProcPath(pid, "cmdline"), kMaxCommandLineBytes + 1);
  // During an exec there is a new program without arguments yet.
  for (int i = 0; i < kExecTries && !facts.executable.empty() && arguments && arguments->empty();
       ++i) {
    ::usleep(100);
    arguments = readFileText(liveProcPath(pid, "cmdline"), kMaxCommandLineBytes + 1);
  }
  if (arguments && !arguments->empty()) {
    const bool cut = arguments->size() > kMaxCommandLineBytes;
    facts.command_line =
        quoteCommandLine(std::string_view(*arguments).substr(0, kMaxCommandLineBytes), cut);
  } else {
    facts.command_line = fmt::format("[{}]", quoteForShell(stat.comm));
  }
  struct stat ns;
  if (::stat(procPath(pid, "ns/pid").c_str(), &ns) == 0) facts.pid_namespace = ns.st_ino;
  facts.namespace_pid = facts.pid_namespace == 0 || facts.pid_namespace == ownPidNamespace()
                            ? pid
                            : innermostPid(pid);

  // The pid may have been reused between the first read and the last.
  const auto again = readProcessStat(pid);
  if (!again || again->start_ticks != stat.start_ticks)
    return fail(ErrorCode::kNotFound, "the process ended while it was looked at",
                procPath(pid, "stat"));
  return facts;
}

std::vector<ListedProcess> listProcesses() {
  std::vector<ListedProcess> found;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return found;
  while (const dirent* entry = ::readdir(directory)) {
    uint32_t pid = 0;
    if (!parseNumber(std::string_view(entry->d_name), pid)) continue;
    if (auto stat = readProcessStat(pid)) found.push_back({pid, std::move(*stat)});
  }
  ::closedir(directory);
  return found;
}

SeenProcess findProcess(uint64_t pid_namespace, uint32_t namespace_pid, uint64_t start_ticks) {
  SeenProcess seen;
  for (const ListedProcess& listed : listProcesses()) {
    struct stat ns;
    if (::stat(procPath(listed.pid, "ns/pid").c_str(), &ns) != 0 || ns.st_ino != pid_namespace) {
      continue;
    }
    seen.namespace_is_seen = true;
    if (listed.stat.start_ticks == start_ticks && innermostPid(listed.pid) == namespace_pid) {
      seen.pid = listed.pid;
    }
  }
  return seen;
}

std::string quoteForShell(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), isPlain)) return std::string(word);
  bool escaped = false;
  for (size_t i = 0; i < word.size() && !escaped;) {
    const size_t n = utf8Length(word.substr(i));
    escaped = n == 0 || static_cast<uint8_t>(word[i]) < 0x20 || word[i] == 0x7f;
    i += std::max<size_t>(n, 1);
  }
  std::string out = escaped ? "$'" : "'";
  for (size_t i = 0; i < word.size();) {
    const char c = word[i];
    const size_t n = utf8Length(word.substr(i));
    if (c == '\'') {
      out += escaped ? "\\'" : "'\\''";
    } else if (escaped && c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (n == 0 || static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      // Octal with three digits: in some shells \x takes as many hexadecimal digits as follow.
      out += fmt::format("\\{:03o}", static_cast<uint8_t>(c));
    } else {
      out += word.substr(i, n);
    }
    i += std::max<size_t>(n, 1);
  }
  out += '\'';
  return out;
}

std::string quoteCommandLine(std::string_view arguments, bool cut) {
  // Each argument ends with NUL, except a cut one and a title that the program wrote itself.
  const size_t text_end = arguments.find_last_not_of('\0');
  const size_t trailing =
      text_end == std::string_view::npos ? arguments.size() : arguments.size() - text_end - 1;
  if (trailing > kTitlePadding)
    arguments.remove_suffix(trailing);
  else if (trailing > 0)
    arguments.remove_suffix(1);
  else if (arguments.empty())
    return {};
  std::string line;
  for (;;) {
    const size_t end = arguments.find('\0');
    line += quoteForShell(arguments.substr(0, end));
    if (end == std::string_view::npos) break;
    line += ' ';
    arguments.remove_prefix(end + 1);
  }
  if (cut) line += " …";
  return line;
}

bool isStatic(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return false;
  unsigned char ident[EI_NIDENT];
  Elf64_Ehdr wide;
  Elf32_Ehdr narrow;
  bool elf = ::pread(fd, ident, sizeof ident, 0) == static_cast<ssize_t>(sizeof ident) &&
             std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_DATA] == ELFDATA2LSB;
  uint64_t offset = 0;
  size_t entry_bytes = 0, count = 0;
  bool program = false;
  if (elf && ident[EI_CLASS] == ELFCLASS64 &&
      ::pread(fd, &wide, sizeof wide, 0) == static_cast<ssize_t>(sizeof wide)) {
    offset = wide.e_phoff;
    entry_bytes = wide.e_phentsize;
    count = wide.e_phnum;
    program = wide.e_type == ET_EXEC || wide.e_type == ET_DYN;
  } else if (elf && ident[EI_CLASS] == ELFCLASS32 &&
             ::pread(fd, &narrow, sizeof narrow, 0) == static_cast<ssize_t>(sizeof narrow)) {
    offset = narrow.e_phoff;
    entry_bytes = narrow.e_phentsize;
    count = narrow.e_phnum;
    program = narrow.e_type == ET_EXEC || narrow.e_type == ET_DYN;
  }
  bool readable = program && count > 0 && entry_bytes >= sizeof(uint32_t);
  bool interpreted = false;
  for (size_t i = 0; readable && !interpreted && i < count; ++i) {
    uint32_t type = 0;  // p_type comes first in both classes
    readable = ::pread(fd, &type, sizeof type, static_cast<off_t>(offset + i * entry_bytes)) ==
               static_cast<ssize_t>(sizeof type);
    interpreted = type == PT_INTERP;
  }
  ::close(fd);
  return readable && !interpreted;
}

namespace {

std::optional<std::string> readEnvironment(uint32_t pid) {
  auto text = readFileText(liveProcPath(pid, "environ"), kMaxEnvironmentBytes);
  // The environment of a zombie reads as empty, and so does that of a process during an exec.
  for (int i = 0; text && text->empty(); ++i) {
    const auto stat = readProcessStat(pid);
    if (!stat || !stat->runs() || i == kExecTries) return std::nullopt;
    const bool settled = stat->environment_end != 0;
    if (!settled) ::usleep(100);
    text = readFileText(liveProcPath(pid, "environ"), kMaxEnvironmentBytes);
    if (settled && text && text->empty()) return text;
  }
  return text;
}

/// Position after NAME=; npos if the variable is not set.
size_t findVariable(const std::string& environment, std::string_view name) {
  const std::string wanted = std::string(name) + "=";
  for (size_t at = environment.find(wanted); at != std::string::npos;
       at = environment.find(wanted, at + 1)) {
    if (at == 0 || environment[at - 1] == '\0') return at + wanted.size();
  }
  return std::string::npos;
}

}  // namespace

std::optional<bool> environmentHas(uint32_t pid, std::string_view name) {
  const auto text = readEnvironment(pid);
  if (!text) return std::nullopt;
  return findVariable(*text, name) != std::string::npos;
}

std::optional<std::string> environmentValue(uint32_t pid, std::string_view name) {
  const auto text = readEnvironment(pid);
  if (!text) return std::nullopt;
  const size_t at = findVariable(*text, name);
  return at == std::string::npos ? std::string() : std::string(text->c_str() + at);
}

uint64_t ownPidNamespace() {
  struct stat ns;
  return ::stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

int64_t clockTicksPerSecond() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? ticks : 100;
}

int64_t startTicksToMonotonicNs(uint64_t start_ticks) {
  // Boot time includes the time that the machine slept. The few ns between reading the two clocks
  // do not matter compared with a tick of 10 ms.
  const int64_t asleep_ns = clockNs(CLOCK_BOOTTIME) - monotonicNs();
  const auto per_second = static_cast<uint64_t>(clockTicksPerSecond());
  const uint64_t seconds = start_ticks / per_second;
  const uint64_t ns =
      seconds * 1'000'000'000 + start_ticks % per_second * (1'000'000'000 / per_second);
  return static_cast<int64_t>(ns) - asleep_ns;
}

uint64_t monotonicNsToStartTicks(int64_t monotonic_ns) {
  const int64_t asleep_ns = clockNs(CLOCK_BOOTTIME) - monotonicNs();
  const int64_t per_tick = 1'000'000'000 / clockTicksPerSecond();
  return static_cast<uint64_t>(std::max<int64_t>(monotonic_ns + asleep_ns, per_tick) / per_tick);
}

}  // namespace tracesmith
