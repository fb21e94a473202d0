// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/descendant_table.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"

namespace tracesmith {
namespace {

// The kernel stamps a process's start some µs before it reports the fork. So the tick computed from
// the report may be the next one.
constexpr uint64_t kTickSlack = 2;
// A newly loaded program may not have written its record yet.
constexpr int64_t kGraceNs = 100'000'000;

bool near(uint64_t a, uint64_t b) { return (a > b ? a - b : b - a) <= kTickSlack; }

}  // namespace

// --- Entries --------------------------------------------------------------------------------

DescendantTable::Entry& DescendantTable::add(uint32_t pid, uint32_t parent_pid,
                                             uint64_t start_ticks, bool exact) {
  Entry& entry = entries_.emplace_back();
  entry.id = static_cast<uint32_t>(entries_.size());
  entry.pid = pid;
  entry.parent_pid = parent_pid;
  entry.start_ticks = start_ticks;
  entry.start_ticks_exact = exact;
  entry.threads = {pid};
  live_[pid] = entries_.size() - 1;
  by_pid_.emplace(pid, entries_.size() - 1);
  return entry;
}

DescendantTable::Entry* DescendantTable::liveEntry(uint32_t pid) {
  const auto it = live_.find(pid);
  return it == live_.end() ? nullptr : &entries_[it->second];
}

/// Finds by pid and start; a computed start time is replaced by the exact one.
DescendantTable::Entry* DescendantTable::find(uint32_t pid, uint64_t start_ticks,
                                              uint64_t pid_namespace) {
  if (pid_namespace != 0 && pid_namespace != own_namespace_) {
    for (Entry& entry : entries_)
      if (entry.pid_namespace == pid_namespace && entry.namespace_pid == pid &&
          near(entry.start_ticks, start_ticks))
        return &entry;
    return nullptr;
  }
  if (start_ticks == 0) return liveEntry(pid);  // the process could not read /proc
  const auto [first, last] = by_pid_.equal_range(pid);
  for (auto it = first; it != last; ++it) {
    Entry& entry = entries_[it->second];
    if (!near(entry.start_ticks, start_ticks)) continue;
    if (entry.start_ticks_exact && entry.start_ticks != start_ticks) continue;
    entry.start_ticks = start_ticks;
    entry.start_ticks_exact = true;
    return &entry;
  }
  return nullptr;
}

DescendantTable::Entry* DescendantTable::rootEntry() {
  for (Entry& entry : entries_)
    if (entry.root) return &entry;
  return nullptr;
}

uint32_t DescendantTable::newProgram(int64_t begin_ns) {
  programs_.emplace_back().begin_ns = begin_ns;
  return static_cast<uint32_t>(programs_.size() - 1);
}

void DescendantTable::setStatus(Entry& entry, int exit_code, int signal) {
  entry.exit_known = true;
  entry.signalled = signal != 0;
  entry.exit_code = signal != 0 ? signal : exit_code;
}

void DescendantTable::end(Entry& entry, int64_t end_ns) {
  if (entry.end_ns == 0) entry.end_ns = std::max(end_ns, entry.start_ns);
  entry.threads.clear();
  const auto it = live_.find(entry.pid);
  if (it != live_.end() && &entries_[it->second] == &entry) live_.erase(it);
}

void DescendantTable::setRoot(uint32_t pid, const std::optional<ProcessStat>& stat,
                              std::string command_line) {
  // Parents come before their children, so one pass finds the whole subtree.
  std::deque<Entry> before = std::exchange(entries_, {});
  live_.clear();
  by_pid_.clear();
  std::unordered_set<uint32_t> family;
  for (Entry& entry : before) {
    if (entry.pid != pid && family.count(entry.parent_pid) == 0) continue;
    family.insert(entry.pid);
    const size_t index = entries_.size();
    by_pid_.emplace(entry.pid, index);
    if (entry.end_ns == 0) live_[entry.pid] = index;
    entry.id = static_cast<uint32_t>(index + 1);
    entries_.push_back(std::move(entry));
  }
  root_ = pid;
  root_command_ = std::move(command_line);
  expected_parent_ = 0;
  if (family.empty()) {
    const int64_t now_ns = monotonicNs();
    const uint64_t ticks = stat ? stat->start_ticks : monotonicNsToStartTicks(now_ns);
    Entry& entry = add(pid, stat ? stat->parent_pid : 0, ticks, stat.has_value());
    entry.start_ns = std::min(startTicksToMonotonicNs(ticks), now_ns);
    entry.programs = {newProgram(entry.start_ns)};
  }
  entries_.front().root = true;
  entries_.front().witnesses |= kLauncher;
}

// --- The kernel's events --------------------------------------------------------------------

void DescendantTable::fork(const ProcessEvent& event) {
  const bool ours = live_.count(event.parent_pid) != 0 ||
                    (expected_parent_ != 0 && event.parent_pid == expected_parent_);
  Entry* entry = liveEntry(event.pid);
  if (entry != nullptr && !near(entry->start_ticks, monotonicNsToStartTicks(event.time_ns))) {
    end(*entry, event.time_ns);  // its pid was reused: the event of its end was lost
    entry = nullptr;
  }
  if (!ours) return;
  if (entry == nullptr) {
    entry = &add(event.pid, event.parent_pid, monotonicNsToStartTicks(event.time_ns), false);
    if (const Entry* parent = liveEntry(event.parent_pid)) {
      entry->inherited = parent->program();
      entry->pid_namespace = parent->pid_namespace;
    } else {
      // our own program, which launched it: needs no details
      entry->inherited = newProgram(event.time_ns);
    }
  }
  entry->parent_pid = event.parent_pid;
  entry->start_ns = event.time_ns;
  entry->threads = {event.pid};
  entry->witnesses |= kConnector;
}

bool DescendantTable::exec(const ProcessEvent& event) {
  Entry* entry = liveEntry(event.pid);
  if (entry == nullptr) return false;
  entry->programs.push_back(newProgram(event.time_ns));
  programs_.back().by_connector = true;
  // The exec ends all other threads; the remaining one has the process's pid.
  entry->threads = {event.pid};
  entry->witnesses |= kConnector;
  return true;
}

void DescendantTable::threadEnd(const ProcessEvent& event) {
  Entry* entry = liveEntry(event.pid);
  // The end of a thread may be reported after the exec that caused it: the thread is then unknown.
  if (entry == nullptr || std::erase(entry->threads, event.tid) == 0) return;
  if (!entry->threads.empty()) return;
  // The last thread's status is the process's (exit_group(2) gives all threads the same).
  const int status = event.wait_status;
  setStatus(*entry, WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  end(*entry, event.time_ns);
}

bool DescendantTable::apply(const ProcessEvent& event) {
  switch (event.kind) {
    case ProcessEvent::Kind::kFork:
      fork(event);
      break;
    case ProcessEvent::Kind::kExec:
      return exec(event);
    case ProcessEvent::Kind::kThreadStart:
      if (Entry* entry = liveEntry(event.pid)) entry->threads.push_back(event.tid);
      break;
    case ProcessEvent::Kind::kThreadEnd:
      threadEnd(event);
      break;
  }
  return false;
}

// --- The preload library's log --------------------------------------------------------------

bool DescendantTable::knows(const LoggedProcess& logged) const {
  return const_cast<DescendantTable*>(this)->find(logged.pid, logged.start_ticks,
                                                  logged.pid_namespace) != nullptr;
}

/// Adds a process that no other witness has reported.
DescendantTable::Entry& DescendantTable::addLogged(const LoggedProcess& logged) {
  const bool foreign = logged.pid_namespace != 0 && logged.pid_namespace != own_namespace_;
  if (!foreign)
    if (Entry* earlier = liveEntry(logged.pid)) end(*earlier, logged.time_ns);
  const bool exact = logged.start_ticks != 0;
  const std::optional<size_t> neighbour =
      live_.count(logged.pid) != 0 ? std::optional(live_[logged.pid]) : std::nullopt;
  Entry& entry = add(logged.pid, logged.parent_pid,
                     exact ? logged.start_ticks : monotonicNsToStartTicks(logged.time_ns), exact);
  entry.start_ns = std::min(startTicksToMonotonicNs(entry.start_ticks), logged.time_ns);
  entry.pid_namespace = logged.pid_namespace;
  entry.namespace_pid = logged.pid;
  if (foreign) {
    // Its pid has no meaning outside its container, and it ended before it could be inspected.
    end(entry, logged.time_ns);
    if (neighbour) live_[logged.pid] = *neighbour;
  }
  if (logged.kind == process_log::Kind::kFork) {
    const Entry* parent = foreign ? nullptr : liveEntry(logged.parent_pid);
    entry.inherited = parent != nullptr ? parent->program() : newProgram(logged.time_ns);
  }
  return entry;
}

void DescendantTable::apply(const LoggedProcess& logged) {
  any_logged_ = true;
  Entry* entry = find(logged.pid, logged.start_ticks, logged.pid_namespace);
  if (entry == nullptr) entry = &addLogged(logged);
  entry->witnesses |= kPreload;
  entry->has_log = true;
  entry->log_offset = logged.offset;

  uint32_t program = entry->inherited;
  if (logged.kind == process_log::Kind::kExec) {
    // Find the last program that was loaded before the record was made. A program makes one record
    // only; a second one means that the report of an exec was lost.
    const auto it = std::find_if(entry->programs.rbegin(), entry->programs.rend(), [&](uint32_t i) {
      return programs_[i].begin_ns <= logged.time_ns;
    });
    if (it != entry->programs.rend() && !programs_[*it].logged) {
      program = *it;
    } else {
      program = newProgram(logged.time_ns);
      entry->programs.push_back(program);
    }
  }
  programs_[program].logged = true;
  if (!logged.command_line.empty()) programs_[program].command_line = logged.command_line;
  if (!logged.executable.empty()) programs_[program].executable = logged.executable;
}

// --- Other witnesses ------------------------------------------------------------------------

void DescendantTable::describe(uint32_t pid, const ProcFacts& look, bool as_new_program,
                               int64_t now_ns) {
  Entry* entry = liveEntry(pid);
  if (entry == nullptr) return;
  const ProcessFacts& facts = look.facts;
  if (entry->start_ticks_exact ? entry->start_ticks != facts.start_ticks
                               : !near(entry->start_ticks, facts.start_ticks))
    return;  // another process by now
  entry->start_ticks = facts.start_ticks;
  entry->start_ticks_exact = true;
  entry->pid_namespace = facts.pid_namespace;
  entry->namespace_pid = facts.namespace_pid;
  if (!look.threads.empty()) entry->threads = look.threads;
  if (facts.zombie) return;
  const bool changed =
      !facts.executable.empty() && programs_[entry->program()].executable != facts.executable;
  if (as_new_program && changed && !programs_[entry->program()].executable.empty())
    entry->programs.push_back(newProgram(now_ns));
  Program& program = programs_[entry->program()];
  // A process that is ending has no program any more, only its name in brackets.
  if (!facts.executable.empty() || program.command_line.empty()) {
    program.executable = facts.executable;
    program.command_line = facts.command_line;
  }
  if (look.is_static) program.is_static = look.is_static;
  if (look.has_environment) program.has_environment = look.has_environment;
}

bool DescendantTable::isKnown(uint32_t pid, uint64_t start_ticks) const {
  const auto [first, last] = by_pid_.equal_range(pid);
  return std::any_of(first, last, [&](const auto& found) {
    return near(entries_[found.second].start_ticks, start_ticks);
  });
}

bool DescendantTable::addRoot(uint32_t pid, const ProcessStat& stat, int64_t now_ns) {
  if (root_ == 0 || live_.count(pid) != 0 || isKnown(pid, stat.start_ticks)) return false;
  Entry& entry = add(pid, stat.parent_pid, stat.start_ticks, true);
  entry.start_ns = std::min(startTicksToMonotonicNs(stat.start_ticks), now_ns);
  entry.programs = {newProgram(entry.start_ns)};
  entry.witnesses = kProc;
  return true;
}

bool DescendantTable::adopt(uint32_t pid, uint32_t parent_pid, uint64_t start_ticks,
                            int64_t now_ns) {
  if (root_ == 0 || live_.count(pid) != 0) return false;
  const Entry* parent = liveEntry(parent_pid);
  if (parent == nullptr) return false;
  // It may have ended already: its zombie is still listed.
  if (isKnown(pid, start_ticks)) return false;
  const uint32_t inherited = parent->program();
  Entry& entry = add(pid, parent_pid, start_ticks, true);
  entry.start_ns = std::min(startTicksToMonotonicNs(start_ticks), now_ns);
  entry.inherited = inherited;
  entry.witnesses = kProc;
  return true;
}

void DescendantTable::noteAgent(uint32_t pid, uint64_t start_ticks) {
  if (Entry* entry = find(pid, start_ticks, 0)) entry->witnesses |= kAgent;
}

void DescendantTable::noteGone(uint32_t pid, int64_t now_ns) {
  if (Entry* entry = liveEntry(pid)) end(*entry, now_ns);
}

void DescendantTable::noteRootExit(int exit_code, int signal, int64_t now_ns) {
  Entry* entry = rootEntry();
  if (entry == nullptr) return;
  setStatus(*entry, exit_code, signal);
  end(*entry, now_ns);
}

void DescendantTable::noteLoggedExit(uint32_t pid, const LoggedExit& exit) {
  Entry* entry = liveEntry(pid);
  if (entry == nullptr) return;
  setStatus(*entry, exit.status, 0);
  end(*entry, exit.time_ns);
}

// --- Asking ---------------------------------------------------------------------------------

std::vector<DescendantTable::Live> DescendantTable::live() const {
  std::vector<size_t> indexes;
  for (const auto& [pid, index] : live_) indexes.push_back(index);
  std::sort(indexes.begin(), indexes.end());
  std::vector<Live> all;
  for (const size_t index : indexes) {
    const Entry& e = entries_[index];
    all.push_back({e.pid, e.start_ticks, e.start_ticks_exact, e.namespace_pid != 0, e.has_log,
                   e.log_offset, e.start_ns});
  }
  return all;
}

bool DescendantTable::unobserved(const Entry& entry, int64_t now_ns) const {
  if (entry.witnesses & kAgent) return false;
  const auto blind = [&](uint32_t index) {
    const Program& program = programs_[index];
    if (program.logged) return false;
    if (program.is_static == true || program.has_environment == false) return true;
    // If other programs left records, a program without one had no library of ours. It is
    // set-user-id, of another architecture, or ended before it could be inspected.
    const bool settled = entry.end_ns != 0 || now_ns - program.begin_ns > kGraceNs;
    return any_logged_ && program.by_connector && settled;
  };
  if (entry.forked()) return blind(entry.inherited);
  return std::any_of(entry.programs.begin(), entry.programs.end(), blind);
}

ProcessRecord DescendantTable::record(const Entry& e, int64_t now_ns) const {
  const Program& program = programs_[e.program()];
  ProcessRecord r;
  r.id = e.id;
  r.facts.pid = e.pid;
  r.facts.ppid = e.parent_pid;
  r.facts.start_ticks = e.start_ticks;
  r.facts.start_ns = startTicksToMonotonicNs(e.start_ticks);
  r.facts.boot_id = bootId();
  r.facts.pid_namespace = e.pid_namespace != 0 ? e.pid_namespace : own_namespace_;
  r.facts.namespace_pid = e.namespace_pid != 0 ? e.namespace_pid : e.pid;
  r.facts.threads = static_cast<uint32_t>(e.threads.size());
  r.facts.command_line = program.command_line;
  r.facts.executable = program.executable;
  // A process that had ended when it was inspected has only a "[name]".
  const std::string& command = r.facts.command_line;
  const bool name_alone = command.empty() || (r.facts.executable.empty() && command[0] == '[');
  if (e.root && name_alone) r.facts.command_line = root_command_;
  r.start_ticks_exact = e.start_ticks_exact;
  r.start_ns = e.start_ns;
  r.end_ns = e.end_ns;
  if (e.end_ns != 0) r.exit_code = e.exit_known ? e.exit_code : kExitCodeUnknown;
  if (e.witnesses & kAgent) r.flags |= process_flags::kAgent;
  if (e.root) r.flags |= process_flags::kRoot;
  if (e.forked()) r.flags |= process_flags::kForkedChild;
  if (e.end_ns == 0) r.flags |= process_flags::kStillRunning;
  if (e.end_ns != 0 && e.signalled) r.flags |= process_flags::kSignalled;
  if (unobserved(e, now_ns)) r.flags |= process_flags::kUnobserved;
  constexpr std::pair<Observer, const char*> kWitnesses[] = {{kAgent, "agent"},
                                                             {kConnector, "connector"},
                                                             {kPreload, "preload"},
                                                             {kLauncher, "launcher"},
                                                             {kProc, "/proc"}};
  for (const auto& witness : kWitnesses) {
    if ((e.witnesses & witness.first) == 0) continue;
    if (!r.seen_by.empty()) r.seen_by += ", ";
    r.seen_by += witness.second;
  }
  return r;
}

std::vector<ProcessRecord> DescendantTable::records(int64_t now_ns) const {
  std::vector<ProcessRecord> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(record(entry, now_ns));
  return all;
}

}  // namespace tracesmith
