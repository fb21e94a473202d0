// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/recording_trigger.hpp"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/capture/session_directory/session_files.hpp"
#include "tracesmith/capture/session_directory/session_info.hpp"

namespace tracesmith {
namespace {

std::atomic<uint32_t> g_signals{0};

void onTriggerSignal(int) { g_signals.fetch_add(1); }

std::optional<SessionInfo> sessionInfoIn(const std::string& directory) {
  std::ifstream in(directory + "/" + std::string(kSessionInfoName), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (!isSessionInfo(text)) return std::nullopt;
  return parseSessionInfo(text);
}

bool isFlightRecorder(const std::string& directory) {
  const auto info = sessionInfoIn(directory);
  return info && info->flight_window_ns > 0;
}

/// A variable in a process's initial environment.
std::string variableOf(uint32_t pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(in, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

Result<TriggerOutcome> triggerRange(const RunningSession& session) {
  std::vector<ChannelFile> channels;
  if (DIR* d = opendir(session.directory.c_str())) {
    while (const dirent* e = readdir(d)) {
      const std::string name = e->d_name;
      if (!name.ends_with(channel::kSuffix)) continue;
      auto file = ChannelFile::open(session.directory + "/" + name);
      if (file && (session.pid == 0 || file->header().pid == session.pid)) {
        channels.push_back(std::move(*file));
      }
    }
    closedir(d);
  }
  if (channels.empty()) {
    return fail(ErrorCode::kNotFound,
                "nothing is recorded there: its program has not used OpenCL yet, or `profile` was "
                "started without --record and --flight-recorder",
                session.directory);
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

Result<RunningSession> findRunningSession(uint32_t pid) {
  const std::string name = arena::kEnvSession;
  const std::string own = variableOf(pid, name);
  std::string session;
  for (const ListedProcess& process : listProcesses()) {
    if (process.stat.parent_pid != pid) continue;
    const std::string of_child = variableOf(process.pid, name);
    // Children of a program in a session have its own session.
    if (!of_child.empty() && of_child != own) session = of_child;
  }
  if (!session.empty()) return RunningSession{session, 0, isFlightRecorder(session)};
  if (own.empty()) {
    return fail(ErrorCode::kNotFound,
                "is neither `tracesmith profile` nor a program that it has started (or it belongs "
                "to another user)",
                "process " + std::to_string(pid));
  }
  return RunningSession{own, pid, isFlightRecorder(own)};
}

Result<RunningSession> findRunningSession(const std::string& output) {
  const std::string directory =
      output.ends_with(kSessionSuffix) ? output : SessionDir::pathFor(output);
  if (!sessionInfoIn(directory)) {
    return fail(ErrorCode::kNotFound, "nothing is being recorded into it", output);
  }
  if (SessionDir::open(directory)) {  // which a recorder would not let happen
    return fail(
        ErrorCode::kNotFound,
        "its recorder was killed; finish the trace with `tracesmith recover " + directory + "`",
        output);
  }
  return RunningSession{directory, 0, isFlightRecorder(directory)};
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
  if (followed_ != g_signals.load() && triggerRange({.directory = session_dir})) ++followed_;
}

bool TriggerSignal::take() {
  const uint32_t signals = g_signals.load();
  return std::exchange(followed_, signals) != signals;
}

}  // namespace tracesmith
