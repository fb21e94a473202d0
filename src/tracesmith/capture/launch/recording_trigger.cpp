// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/recording_trigger.hpp"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith {
namespace {

std::atomic<uint32_t> g_signals{0};

void onTriggerSignal(int) { g_signals.fetch_add(1); }

/// A variable in a process's initial environment.
std::string variableOf(uint32_t pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(in, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

Result<TriggerOutcome> triggerSession(const std::string& session_dir, uint32_t pid) {
  std::vector<ChannelFile> channels;
  if (DIR* d = opendir(session_dir.c_str())) {
    while (const dirent* e = readdir(d)) {
      const std::string name = e->d_name;
      if (!name.ends_with(channel::kSuffix)) continue;
      auto file = ChannelFile::open(session_dir + "/" + name);
      if (file && (pid == 0 || file->header().pid == pid)) channels.push_back(std::move(*file));
    }
    closedir(d);
  }
  if (channels.empty()) {
    return fail(ErrorCode::kNotFound,
                "nothing is recorded there: its program has not used OpenCL yet, or `profile` was "
                "started without --record",
                session_dir);
  }
  TriggerOutcome outcome;
  // All processes get the same command, whatever each was told before.
  outcome.begins = std::none_of(channels.begin(), channels.end(), [](const ChannelFile& c) {
    return (c.header().trigger.load() & 1) != 0;
  });
  for (const ChannelFile& c : channels) {
    if (((c.header().trigger.load() & 1) != 0) != outcome.begins) c.header().trigger.fetch_add(1);
    outcome.pids.push_back(c.header().pid);
  }
  return outcome;
}

Result<TriggerOutcome> triggerRecording(uint32_t pid) {
  const std::string name = arena::kEnvSession;
  const std::string own = variableOf(pid, name);
  std::string session;
  for (const ListedProcess& process : listProcesses()) {
    if (process.stat.parent_pid != pid) continue;
    const std::string of_child = variableOf(process.pid, name);
    // Children of a program in a session have its own session.
    if (!of_child.empty() && of_child != own) session = of_child;
  }
  if (!session.empty()) return triggerSession(session, 0);
  if (own.empty()) {
    return fail(ErrorCode::kNotFound,
                "is neither `tracesmith profile` nor a program that it has started (or it belongs "
                "to another user)",
                "process " + std::to_string(pid));
  }
  return triggerSession(own, pid);
}

TriggerSignal::TriggerSignal() {
  g_signals.store(0);
  struct sigaction action {};
  action.sa_handler = onTriggerSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR2, &action, &previous_);
}

TriggerSignal::~TriggerSignal() { sigaction(SIGUSR2, &previous_, nullptr); }

void TriggerSignal::poll(const std::string& session_dir) {
  if (followed_ != g_signals.load() && triggerSession(session_dir, 0)) ++followed_;
}

}  // namespace tracesmith
