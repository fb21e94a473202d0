// SPDX-License-Identifier: Apache-2.0
// The descendants of one process, combined from several witnesses: the kernel's events, the preload
// library's log, the agents and /proc. No witness sees everything, and each may report late. This
// class only keeps the table and reads nothing itself (see process_tracker.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracesmith/capture/processes/process_connector.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/processes/process_log.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

constexpr int64_t kExitCodeUnknown = -1;  ///< ended, but the exit code is unknown

/// One process for the trace's `process` table.
struct ProcessRecord {
  uint32_t id = 0;                 ///< from 1, in order of discovery; never changes
  ProcessFacts facts;              ///< of the last program it ran; start_ticks is never 0
  bool start_ticks_exact = false;  ///< false: computed from the time of the fork, may be off by 1
  int64_t start_ns = 0;            ///< CLOCK_MONOTONIC, of the fork
  int64_t end_ns = 0;              ///< 0: still running; without events: when the end was noticed
  int64_t exit_code = 0;           ///< with kSignalled the signal's number; may be kExitCodeUnknown
  uint32_t flags = 0;              ///< process_flags
  std::string seen_by;             ///< e.g. "connector, preload"
};

// (The trace's own table of processes is ProcessTable of model/tables.hpp.)
class DescendantTable {
 public:
  enum Observer : uint32_t { kAgent = 1, kConnector = 2, kPreload = 4, kLauncher = 8, kProc = 16 };

  // --- The root ---
  /// Follows the children of `parent` until setRoot() names the wanted one.
  void expectChildOf(uint32_t parent) { expected_parent_ = parent; }
  /// Sets the process whose descendants are wanted, and forgets everything followed so far. `stat`
  /// gives its start, needed if the kernel did not report its fork. `command_line` is what it was
  /// started with; it is used when no witness reports its program.
  void setRoot(uint32_t pid, const std::optional<ProcessStat>& stat, std::string command_line);
  /// Adds a process that does not descend from the root. False when it is known already.
  bool addRoot(uint32_t pid, const ProcessStat& stat, int64_t now_ns);

  // --- What witnesses say ---
  /// True when the event is about a descendant that now runs another program; then call describe().
  bool apply(const ProcessEvent& event);
  void apply(const LoggedProcess& logged);
  /// Adds what /proc says about the program that `pid` runs now. With `as_new_program`, a change of
  /// program since the last call counts as an exec at `now_ns`.
  struct ProcFacts {
    ProcessFacts facts;
    std::optional<bool> is_static, has_environment;
    std::vector<uint32_t> threads;  ///< empty: not read
  };
  void describe(uint32_t pid, const ProcFacts& look, bool as_new_program = false,
                int64_t now_ns = 0);
  /// Adds a process found in /proc whose parent is known. False when it is known already, or no
  /// descendant.
  bool adopt(uint32_t pid, uint32_t parent_pid, uint64_t start_ticks, int64_t now_ns);
  void noteAgent(uint32_t pid, uint64_t start_ticks);
  /// Notes that the process is gone, with unknown exit code.
  void noteGone(uint32_t pid, int64_t now_ns);
  /// Notes the root's exit as its launcher learned it. signal: 0, or the one that ended it.
  void noteRootExit(int exit_code, int signal, int64_t now_ns);
  /// Notes the exit that the process wrote to its log record.
  void noteLoggedExit(uint32_t pid, const LoggedExit& exit);

  // --- Asking ---
  struct Live {
    uint32_t pid = 0;
    uint64_t start_ticks = 0;
    bool start_ticks_exact = false;
    bool described = false;  ///< describe() has placed it in a pid namespace
    bool has_log = false;
    uint64_t log_offset = 0;
    int64_t start_ns = 0;
  };
  /// Running processes, parents before their children.
  std::vector<Live> live() const;
  bool isLive(uint32_t pid) const { return live_.count(pid) != 0; }
  /// True when `logged` names a known process.
  bool knows(const LoggedProcess& logged) const;
  /// Everything known at `now_ns`.
  std::vector<ProcessRecord> records(int64_t now_ns) const;

 private:
  /// A program loaded by an exec; forked children share their parent's.
  struct Program {
    std::string command_line, executable;
    std::optional<bool> is_static, has_environment;
    bool logged = false;        // the preload library was loaded in it
    bool by_connector = false;  // the kernel reported the exec
    int64_t begin_ns = 0;
  };
  struct Entry {
    uint32_t id = 0, pid = 0, parent_pid = 0;
    uint64_t start_ticks = 0;
    bool start_ticks_exact = false;
    int64_t start_ns = 0, end_ns = 0;
    int64_t exit_code = 0;
    bool signalled = false, exit_known = false, root = false;
    uint32_t witnesses = 0;
    uint64_t pid_namespace = 0;
    uint32_t namespace_pid = 0;  // 0: describe() was not called yet
    bool has_log = false;
    uint64_t log_offset = 0;
    uint32_t inherited = 0;          // the program shared with its parent
    std::vector<uint32_t> programs;  // its own; it runs the last one
    std::vector<uint32_t> threads;   // live threads, according to events

    bool forked() const { return programs.empty(); }
    uint32_t program() const { return forked() ? inherited : programs.back(); }
  };

  Entry& add(uint32_t pid, uint32_t parent_pid, uint64_t start_ticks, bool exact);
  Entry* liveEntry(uint32_t pid);
  Entry* find(uint32_t pid, uint64_t start_ticks, uint64_t pid_namespace);
  /// Whether a process of this pid with this start is known, running or ended.
  bool isKnown(uint32_t pid, uint64_t start_ticks) const;
  Entry& addLogged(const LoggedProcess& logged);
  Entry* rootEntry();
  uint32_t newProgram(int64_t begin_ns);
  void setStatus(Entry& entry, int exit_code, int signal);
  void end(Entry& entry, int64_t end_ns);
  void fork(const ProcessEvent& event);
  bool exec(const ProcessEvent& event);
  void threadEnd(const ProcessEvent& event);
  bool unobserved(const Entry& entry, int64_t now_ns) const;
  ProcessRecord record(const Entry& entry, int64_t now_ns) const;

  uint64_t own_namespace_ = ownPidNamespace();
  uint32_t root_ = 0;
  uint32_t expected_parent_ = 0;
  std::string root_command_;
  bool any_logged_ = false;
  std::deque<Entry> entries_;
  std::deque<Program> programs_;
  std::unordered_map<uint32_t, size_t> live_;  // pid -> entry
  std::unordered_multimap<uint32_t, size_t> by_pid_;
};

}  // namespace tracesmith
