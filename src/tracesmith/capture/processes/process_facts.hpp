// SPDX-License-Identifier: Apache-2.0
// What /proc says of a process: who it is, whose child, what it runs. Everything here copes with
// processes that end, exec or are replaced while we look, and with hostile names and arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

constexpr size_t kMaxCommandLineBytes = 4096;  ///< of the raw arguments; what is longer is cut

/// /proc/PID/stat, as far as we use it.
struct ProcessStat {
  std::string comm;  ///< the name that the kernel keeps, at most 15 bytes of anything
  char state = '?';  ///< 'R', 'S', 'Z' (zombie), 'X' (dead), …
  uint32_t parent_pid = 0;
  uint32_t threads = 0;
  /// Field 22: start since boot (CLOCK_BOOTTIME) in clockTicksPerSecond().
  uint64_t start_ticks = 0;
  /// Field 51: where the environment ends in its memory; 0 in the middle of an exec, and of a
  /// process that we may not look into.
  uint64_t environment_end = 0;
  /// False for one that has ended. The first thread of one that has others may have ended alone.
  bool runs() const { return state != 'X' && (state != 'Z' || threads > 1); }
};

struct ProcessFacts {
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ticks = 0;
  int64_t start_ns = 0;      ///< CLOCK_MONOTONIC, from start_ticks: at most 10 ms too early
  std::string command_line;  ///< quoted for a shell, one line; "[name]" without arguments to read
  std::string executable;    ///< path; empty for kernel threads and zombies
  std::string boot_id;
  uint64_t pid_namespace = 0;  ///< inode of the namespace; 0: unknown
  uint32_t namespace_pid = 0;  ///< its number inside that namespace; equals pid outside containers
  uint32_t threads = 0;
  bool zombie = false;  ///< all its threads have ended, but its parent has not yet asked
};

/// kNotFound when the process is gone (or ended and was replaced while we looked).
Result<ProcessFacts> readProcessFacts(uint32_t pid);
Result<ProcessStat> readProcessStat(uint32_t pid);
/// nullopt when `text` is not a line of /proc/PID/stat.
std::optional<ProcessStat> parseProcessStat(std::string_view text);

/// A file of /proc about a process, as of one of its threads that runs: when the first thread has
/// ended before the others, /proc/PID/{exe,cmdline,environ,maps} are empty.
std::string liveProcPath(uint32_t pid, const char* name);

/// Every process that /proc shows, with its stat. For finding descendants after the fact.
struct ListedProcess {
  uint32_t pid = 0;
  ProcessStat stat;
};
std::vector<ListedProcess> listProcesses();

/// A process by the number that it has in another pid namespace.
struct SeenProcess {
  uint32_t pid = 0;                ///< its number here; 0: it is not there
  bool namespace_is_seen = false;  ///< others of its namespace are, so that it would be, too
};
SeenProcess findProcess(uint64_t pid_namespace, uint32_t namespace_pid, uint64_t start_ticks);

/// NUL-separated arguments as one line that a shell would split the same way. Control characters
/// and bytes that are not UTF-8 are written as $'\n' and $'\377'; `cut` adds " …".
std::string quoteCommandLine(std::string_view nul_separated, bool cut = false);
std::string quoteForShell(std::string_view word);

/// True for an ELF program that no dynamic linker loads (no PT_INTERP), so no library can be
/// preloaded into it. False for anything else, also for what cannot be read.
bool isStatic(const std::string& path);

/// Whether the environment that the process was started with has variable `name`; nullopt when it
/// cannot be read (gone, a zombie, in the middle of an exec, another user's).
std::optional<bool> environmentHas(uint32_t pid, std::string_view name);

/// The value it has there; "" when there is none. nullopt as above.
std::optional<std::string> environmentValue(uint32_t pid, std::string_view name);

/// The machine's boot, /proc/sys/kernel/random/boot_id; "" when it cannot be read.
const std::string& bootId();
/// Inode of our own pid namespace; 0 when it cannot be read.
uint64_t ownPidNamespace();

/// CLK_TCK: 100 on every Linux that matters, yet a property of the system.
int64_t clockTicksPerSecond();
/// A start in ticks since boot as CLOCK_MONOTONIC ns: the beginning of the tick.
int64_t startTicksToMonotonicNs(uint64_t start_ticks);

}  // namespace tracesmith
