// SPDX-License-Identifier: Apache-2.0
// Facts about a process from /proc: identity, parent, program. All functions cope with processes
// that end, exec or are replaced while they are read, and with hostile names and arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

constexpr size_t kMaxCommandLineBytes = 4096;  ///< of the raw arguments; longer ones are cut

/// The fields of /proc/PID/stat that are used.
struct ProcessStat {
  std::string comm;  ///< the kernel's name for it, up to 15 arbitrary bytes
  char state = '?';  ///< 'R', 'S', 'Z' (zombie), 'X' (dead), …
  uint32_t parent_pid = 0;
  uint32_t threads = 0;
  /// Field 22: start since boot (CLOCK_BOOTTIME) in clockTicksPerSecond().
  uint64_t start_ticks = 0;
  /// Field 51: end address of the environment. 0 during an exec, and for a process that may not be
  /// inspected.
  uint64_t environment_end = 0;
  /// False when the process has ended. A zombie with other threads still runs: only its first
  /// thread has ended.
  bool runs() const { return state != 'X' && (state != 'Z' || threads > 1); }
};

struct ProcessFacts {
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ticks = 0;
  int64_t start_ns = 0;      ///< CLOCK_MONOTONIC, from start_ticks: at most 10 ms too early
  std::string command_line;  ///< quoted for a shell, one line; "[name]" if unreadable
  std::string executable;    ///< path; empty for kernel threads and zombies
  std::string boot_id;
  uint64_t pid_namespace = 0;  ///< inode of the namespace; 0: unknown
  uint32_t namespace_pid = 0;  ///< its number inside that namespace; equals pid outside containers
  uint32_t threads = 0;
  bool zombie = false;  ///< all threads have ended, but the parent has not waited for it yet
};

/// kNotFound when the process is gone, or ended and was replaced during the call.
Result<ProcessFacts> readProcessFacts(uint32_t pid);
Result<ProcessStat> readProcessStat(uint32_t pid);
/// nullopt when `text` is not a line of /proc/PID/stat.
std::optional<ProcessStat> parseProcessStat(std::string_view text);

/// Path of a /proc file of the process, through one of its running threads. This is necessary when
/// the first thread ended before the others: /proc/PID/{exe,cmdline,environ,maps} are then empty.
std::string liveProcPath(uint32_t pid, const char* name);

/// A process that /proc lists, for finding descendants afterwards.
struct ListedProcess {
  uint32_t pid = 0;
  ProcessStat stat;
};
std::vector<ListedProcess> listProcesses();

/// A process identified by its number in another pid namespace.
struct SeenProcess {
  uint32_t pid = 0;                ///< its number here; 0: not found
  bool namespace_is_seen = false;  ///< others of its namespace are, so it would be, too
};
SeenProcess findProcess(uint64_t pid_namespace, uint32_t namespace_pid, uint64_t start_ticks);

/// Joins NUL-separated arguments to one line that a shell would split the same way. Control
/// characters and bytes that are not UTF-8 are written as $'\n' and $'\377'; `cut` adds " …".
std::string quoteCommandLine(std::string_view nul_separated, bool cut = false);
std::string quoteForShell(std::string_view word);

/// True for an ELF program that no dynamic linker loads (no PT_INTERP), so that no library can be
/// preloaded. False for any other file, including unreadable ones.
bool isStatic(const std::string& path);

/// Whether variable `name` was in the environment with which the process started. nullopt when that
/// cannot be read (process gone, zombie, in an exec, or another user's).
std::optional<bool> environmentHas(uint32_t pid, std::string_view name);

/// The variable's value; "" when it is not set. nullopt as above.
std::optional<std::string> environmentValue(uint32_t pid, std::string_view name);

/// Inode of our own pid namespace; 0 when it cannot be read.
uint64_t ownPidNamespace();

/// CLK_TCK: a property of the system, although in practice 100 on every Linux.
int64_t clockTicksPerSecond();
/// Converts a start in ticks since boot to CLOCK_MONOTONIC ns; the result is the start of the tick.
int64_t startTicksToMonotonicNs(uint64_t start_ticks);
/// The tick since boot in which a time of CLOCK_MONOTONIC lies.
uint64_t monotonicNsToStartTicks(int64_t monotonic_ns);

}  // namespace tracesmith
