// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/collect/session_processes.hpp"

#include <time.h>

#include <cstdlib>
#include <map>
#include <set>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kPollIntervalNs = 10'000'000;
constexpr int64_t kAgentlessCheckNs = 10'000'000;
constexpr int64_t kRowsIntervalNs = 1'000'000'000;
// The kernel's events of the last exits may arrive shortly after wait(2) has returned.
constexpr int64_t kLastWordNs = 20'000'000;

}  // namespace

Descendants::Descendants(const SessionDir& dir, Collector& collector)
    : collector_(collector), agentless_(dir.path()) {
  auto tracker = ProcessTracker::start(
      {.log_path = dir.processLog(), .environment_marker = arena::kEnvSession});
  if (!tracker) {
    warnings_.push_back("processes without an agent are not seen: " + tracker.error().toString());
    return;
  }
  tracker_ = std::move(*tracker);
  if (tracker_->hasConnector()) {
    collector_.noteMetadata("process_tracking", "process-event connector");
    return;
  }
  collector_.noteMetadata("process_tracking", "preload: " + tracker_->connectorProblem());
  auto library = findAgentLibrary("libtracesmith-process.so");
  if (library) {
    preload_ = *library;
  } else {
    warnings_.push_back("short-lived processes may be missed: " + library.error().toString());
  }
}

void Descendants::started(pid_t pid, const std::string& command_line) {
  if (tracker_) tracker_->setRoot(static_cast<uint32_t>(pid), command_line);
}

void Descendants::joined(uint32_t pid) {
  if (!tracker_) return;
  tracker_->addRoot(pid);
  noted_agents_ = 0;  // its agent may have been noted before the process was known
}

void Descendants::poll(int64_t now_ns) {
  if (!tracker_ || now_ns - last_poll_ns_ < kPollIntervalNs) return;
  last_poll_ns_ = now_ns;
  if (collector_.agentProcesses() != noted_agents_) {
    noted_agents_ = collector_.agentProcesses();
    for (const auto& [pid, start_ticks] : collector_.agents()) {
      tracker_->noteAgent(pid, start_ticks);
    }
  }
  if (auto ok = tracker_->poll(now_ns); !ok) {
    warnings_.push_back("processes are no longer followed: " + ok.error().toString());
    tracker_.reset();
    return;
  }
  if (now_ns - last_agentless_check_ns_ >= kAgentlessCheckNs) {
    last_agentless_check_ns_ = now_ns;
    agentless_.inspect(tracker_->running(), now_ns);
  }
  if (now_ns - last_rows_ns_ >= kRowsIntervalNs) {
    last_rows_ns_ = now_ns;
    writeRows(now_ns, false);
  }
}

void Descendants::writeRows(int64_t now_ns, bool all) {
  unobserved_ = 0;
  for (const ProcessRecord& p : tracker_->processes(now_ns)) {
    if (p.flags & process_flags::kUnobserved) ++unobserved_;
    pids_.insert(p.facts.pid);
    // An inexact start time is part of the row's key and may still change.
    if (!all && !p.start_ticks_exact) continue;
    collector_.noteProcess({.pid = p.facts.pid,
                            .parent_pid = p.facts.ppid,
                            .pid_namespace = p.facts.pid_namespace,
                            .start_ticks = p.facts.start_ticks,
                            .start_ns = p.start_ns,
                            .end_ns = p.end_ns,
                            .exit_code = p.exit_code,
                            .flags = p.flags},
                           p.facts.command_line, p.facts.executable, p.facts.boot_id, p.seen_by);
  }
}

std::vector<std::string> Descendants::reportAgentless(const SessionDir& dir) {
  std::map<AgentlessProcesses::Key, LoadedDriver> agentless = agentless_.found();
  for (const auto& key : collector_.agents()) agentless.erase(key);
  std::set<uint32_t> reported;
  for (const SessionDir::Unrecorded& u : dir.unrecorded()) reported.insert(u.pid);
  std::erase_if(agentless,
                [&](const auto& entry) { return reported.count(entry.first.first) > 0; });
  if (agentless.empty()) return {};
  for (const auto& [key, driver] : agentless) {
    collector_.noteLoss("process " + std::to_string(key.first), 1, 1,
                        "had loaded " + driver.name() + ", and no agent reported from it");
  }
  const auto& [key, driver] = *agentless.begin();
  const std::string more = agentless.size() > 1
                               ? " (and " + std::to_string(agentless.size() - 1) + " more)"
                               : std::string();
  return {"process " + std::to_string(key.first) + more + " has loaded " + driver.name() +
          ", but nothing of it was recorded: " + whyAgentless(driver, dir.path())};
}

void Descendants::finish(const ExitStatus& root, int64_t now_ns) {
  if (!tracker_) return;
  tracker_->noteRootExit(root.exit_code, root.signal, now_ns);
  const timespec pause{0, kLastWordNs};
  nanosleep(&pause, nullptr);
  last_poll_ns_ = 0;
  poll(monotonicNs());
  if (!tracker_) return;
  writeRows(monotonicNs(), true);
  const ProcessTrackerLosses losses = tracker_->losses();
  if (losses.lost_events > 0) {
    collector_.noteLoss("process events", losses.lost_events, losses.lost_events,
                        "the kernel could not deliver them; a process may be missing");
  }
  if (losses.damaged_records > 0) {
    collector_.noteLoss("process log", losses.damaged_records, losses.damaged_records,
                        "damaged records of the preload library");
  }
}

}  // namespace tracesmith
