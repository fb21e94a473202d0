// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/attach_session.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/launch/agent_environment.hpp"
#include "tracesmith/capture/launch/armed_process.hpp"
#include "tracesmith/capture/launch/drain_pause.hpp"
#include "tracesmith/capture/launch/session_report.hpp"
#include "tracesmith/capture/launch/window_triggers.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/system/system_recorder.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kCheckNs = kSecondNs / 10;
constexpr int64_t kAnswerNs = 10 * kSecondNs;  // time until a process counts as stopped

uint64_t inodeOf(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 ? s.st_ino : 0;
}

/// The control directory of the process. Fails when the process cannot be asked.
Result<std::string> controlDirectoryOf(uint32_t pid) {
  const std::string who = "process " + std::to_string(pid);
  if (!readProcessStat(pid)) return fail(ErrorCode::kNotFound, "there is no such process", who);
  const std::string proc = "/proc/" + std::to_string(pid);
  const auto armed = environmentValue(pid, control::kEnvDirectory);
  if (!armed) {
    return fail(ErrorCode::kPermission, "its environment cannot be read; ask as its user", who);
  }
  const auto session = environmentValue(pid, arena::kEnvSession);
  if (session && !session->empty()) {
    return fail(ErrorCode::kInvalidArgument, "is recorded by `tracesmith profile` already", who);
  }
  if (armed->empty()) {
    return fail(ErrorCode::kUnsupported,
                "was not started with `tracesmith arm -- COMMAND`, so there is nothing in it that "
                "could be switched on",
                who);
  }
  const uint64_t mounts = inodeOf(proc + "/ns/mnt"), pids = inodeOf(proc + "/ns/pid");
  if (mounts == 0 || pids == 0) return fail(ErrorCode::kNotFound, "there is no such process", who);
  if (mounts != inodeOf("/proc/self/ns/mnt") || pids != inodeOf("/proc/self/ns/pid")) {
    return fail(ErrorCode::kUnsupported,
                "lives in another container, with other files: run this command there", who);
  }
  return *armed;
}

/// The control directory; "" if there is none and the process is recorded from outside.
Result<std::string> directoryFor(uint32_t pid, bool from_outside) {
  auto directory = controlDirectoryOf(pid);
  if (directory || !from_outside || !readProcessStat(pid)) return directory;
  return std::string();
}

/// Checks, for a process without a page, that it could have created one. A process that may not be
/// inspected appears to belong to root.
Status checkUserOf(uint32_t pid, const std::string& directory) {
  struct stat its {
  }, ours{};
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &its) != 0 ||
      stat(directory.c_str(), &ours) != 0 || its.st_uid == 0 || its.st_uid == ours.st_uid) {
    return {};
  }
  return fail(ErrorCode::kPermission,
              fmt::format("cannot be captured: it has become another user (id {}) since it was "
                          "armed, and cannot reach {}; arm it as that user",
                          its.st_uid, directory),
              "process " + std::to_string(pid));
}

/// A process and its descendants.
class Family {
 public:
  explicit Family(uint32_t root) : root_(root) {}
  void look() {
    parents_.clear();
    for (const ListedProcess& p : listProcesses()) {
      if (p.stat.runs()) parents_[p.pid] = p.stat.parent_pid;
    }
  }
  bool has(uint32_t pid) const {
    for (size_t i = 0; pid != 0 && i <= parents_.size(); ++i) {
      if (pid == root_) return true;
      const auto parent = parents_.find(pid);
      pid = parent == parents_.end() ? 0 : parent->second;
    }
    return false;
  }
  bool rootIsAlive() const { return parents_.count(root_) > 0; }

 private:
  uint32_t root_;
  std::unordered_map<uint32_t, uint32_t> parents_;
};

/// All processes that are asked to start and end capture.
class Captured {
 public:
  Captured(uint32_t pid, std::string directory, Environment settings)
      : family_(pid), directory_(std::move(directory)), settings_(std::move(settings)) {}

  /// Asks new processes to start. Fails only when the settings do not fit.
  Status look(int64_t now) {
    family_.look();
    for (const ArmedProcessInfo& info : listArmed(directory_)) {
      if (known_.count(info.path) > 0 || !family_.has(info.pid)) continue;
      auto process = ArmedProcess::open(info.path);
      if (!process) {
        if (process.error().code == ErrorCode::kInvalidArgument) {
          known_.insert(info.path);
          warnings_.push_back(process.error().message);
        }
        continue;  // gone, or not ready yet
      }
      known_.insert(info.path);
      TS_CHECK_OK(process->begin(settings_));
      members_.push_back({std::move(*process), now, false});
    }
    for (const UnarmedProcessInfo& info : listUnarmed(directory_)) {
      if (!family_.has(info.pid) || !known_.insert(info.path).second) continue;
      warnings_.push_back(fmt::format("process {} cannot be captured: it could not {} ({}); {}",
                                      info.pid, arena::failureOf(info.step),
                                      std::strerror(info.error), arena::adviceOn(info.step)));
    }
    return {};
  }

  void poll(int64_t now) {
    std::erase_if(members_, [](const Member& m) { return !m.process.isAlive(); });
    for (Member& m : members_) {
      if (m.began || m.failed) continue;
      if (m.process.hasAnswered()) {
        m.began = m.process.error() == 0;
        m.failed = !m.began;
        if (m.failed) {
          const int error = m.process.error();
          const arena::ArmStep step = m.process.failedStep();
          warnings_.push_back(fmt::format(
              "process {} was not recorded ({}): it could not {}; {}", m.process.pid(),
              std::strerror(error), arena::failureOf(step),
              error == EACCES || error == EPERM ? "record as its user" : arena::adviceOn(step)));
        }
        any_ = any_ || m.began;
      } else if (now - m.asked_ns > kAnswerNs && !m.late) {
        m.late = true;
        warnings_.push_back(
            fmt::format("process {} does not answer: is it stopped?", m.process.pid()));
      }
    }
  }

  /// Asks all processes to end. hasEnded() is true once they have, or after a time limit.
  void end(int64_t now) {
    for (Member& m : members_) m.process.end();
    end_asked_ns_ = now;
  }
  bool hasEnded(int64_t now) {
    const auto waits = [](const Member& m) {
      return m.process.isAlive() && !m.process.hasAnswered();
    };
    if (std::none_of(members_.begin(), members_.end(), waits)) return true;
    if (now - end_asked_ns_ > kSecondNs) {
      std::erase_if(members_, [](const Member& m) { return m.process.executedAnother(); });
    }
    if (now - end_asked_ns_ < kAnswerNs) return false;
    for (const Member& m : members_) {
      if (waits(m) && !m.late) {
        warnings_.push_back(
            fmt::format("process {} did not end its capture: is it stopped? The "
                        "capture ends when it continues",
                        m.process.pid()));
      }
    }
    return true;
  }

  bool any() const { return any_; }
  bool hasMembers() const { return !members_.empty(); }
  bool allFailed() const {
    return !any_ && !members_.empty() &&
           std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.failed; });
  }
  /// Warnings since the last call.
  std::vector<std::string> takeWarnings() { return std::exchange(warnings_, {}); }
  bool rootIsAlive() const { return family_.rootIsAlive(); }

 private:
  struct Member {
    ArmedProcess process;
    int64_t asked_ns = 0;
    bool began = false;
    bool failed = false;
    bool late = false;
  };
  Family family_;
  std::string directory_;
  Environment settings_;
  std::set<std::string> known_;
  std::vector<Member> members_;
  std::vector<std::string> warnings_;
  int64_t end_asked_ns_ = 0;
  bool any_ = false;
};

/// The process given by the user.
struct AttachTarget {
  uint32_t pid = 0;
  std::string directory;  // its control directory; "": it is not armed
  std::string command_line;
};

/// A session of processes that were already running. Call start(), watch() and finish() in this
/// order; if start() or watch() fails, there is no session.
class AttachedSession {
 public:
  using Say = std::function<void(const std::string&)>;
  AttachedSession(AttachTarget target, const ProfileOptions& options, SessionDir& dir,
                  const Say& say)
      : target_(std::move(target)), options_(options), dir_(dir), say_(say) {}
  Status start();
  Status watch(const SignalRelay& relay);
  ProfileOutcome finish();

 private:
  Status ask();
  Status recordSystem();
  bool findsMore(int64_t now);
  bool hasBegun() const { return system_ != nullptr || captured_->any(); }

  const AttachTarget target_;
  const ProfileOptions& options_;
  SessionDir& dir_;
  const Say& say_;
  std::optional<Captured> captured_;
  int64_t asked_ns_ = 0;
  std::unique_ptr<PeerClocks> peers_;
  std::unique_ptr<SystemRecorder> system_;  // before the collector, which reads it
  std::unique_ptr<Collector> collector_;
  std::optional<WindowTriggers> window_triggers_;
  ProfileOutcome outcome_;
  DrainPause drain_pause_{options_.ring_bytes};
};

Status AttachedSession::start() {
  const FlightOptions flight = options_.flight.value_or(FlightOptions{});
  TS_CHECK_OK(dir_.writeInfo({.output = options_.output,
                              .command_line = target_.command_line,
                              .root_pid = target_.pid,
                              .keep_kernels = options_.kernels,
                              .keep_memory = options_.memory,
                              .flight_window_ns = flight.window_ns,
                              .force = options_.force,
                              .attached = true}));
  TS_CHECK_OK(checkRoomForArena(dir_, options_.ring_bytes));
  captured_.emplace(target_.pid, target_.directory, settingsFor(options_, dir_.path()));
  TS_TRY(peers_, PeerClocks::start(options_.sync_with));  // before anything waits for the collector
  TS_CHECK_OK(ask());
  auto made = Collector::create(
      dir_, {.keep_kernels = options_.kernels, .keep_memory = options_.memory, .flight = flight});
  if (!made) {
    captured_->end(asked_ns_);
    return tl::unexpected<Error>(made.error());
  }
  collector_ = std::move(*made);
  if (options_.flight) window_triggers_.emplace(dir_.path());
  noteHost(*collector_, target_.command_line);
  collector_->noteMetadata("attached_to", std::to_string(target_.pid));
  if (peers_ != nullptr) collector_->followPeers(*peers_);
  collector_->readTopology();
  if (options_.system) TS_CHECK_OK(recordSystem());
  if (target_.directory.empty()) {
    say_(fmt::format(
        "process {} was not started with `tracesmith arm`: its work on the GPU is not recorded",
        target_.pid));
  } else if (!captured_->hasMembers()) {
    say_(fmt::format("process {} is armed, and uses neither CUDA nor NVTX yet: waiting for it",
                     target_.pid));
  }
  return {};
}

/// What processors do is recorded from outside, and needs nothing in the process.
Status AttachedSession::recordSystem() {
  auto recorder = SystemRecorder::attach(target_.pid, *options_.system);
  if (!recorder) {
    captured_->end(monotonicNs());
    return tl::unexpected<Error>(std::move(recorder.error()));
  }
  system_ = std::move(*recorder);
  collector_->followSystem(*system_);
  noteSystem(*collector_, *system_, *options_.system);
  return {};
}

/// Asks the present processes to start. Fails when none of them can.
Status AttachedSession::ask() {
  asked_ns_ = monotonicNs();
  if (target_.directory.empty()) return {};
  TS_CHECK_OK(captured_->look(asked_ns_));
  const auto warnings = captured_->takeWarnings();
  if (captured_->hasMembers()) return {};
  Status status = warnings.empty() ? checkUserOf(target_.pid, target_.directory)
                                   : fail(ErrorCode::kInvalidArgument, warnings.front());
  if (status || !options_.system) return status;
  say_("warning: " + status.error().toString());  // its processors are recorded nevertheless
  return {};
}

/// Drains until the session must end. Fails when no process could start.
Status AttachedSession::watch(const SignalRelay& relay) {
  int64_t begun = 0;
  int64_t next_check = asked_ns_ + kCheckNs;
  int64_t next_progress = asked_ns_ + kSecondNs / 5;
  while (relay.stops() == 0) {
    const uint64_t met = collector_->poll();
    const int64_t now = monotonicNs();
    captured_->poll(now);
    if (window_triggers_) window_triggers_->poll(*collector_, now);
    const std::vector<std::string> warnings = captured_->takeWarnings();
    if (captured_->allFailed() && system_ == nullptr) {
      return fail(ErrorCode::kIo,
                  warnings.empty() ? "no process could start its capture" : warnings.front());
    }
    for (const std::string& warning : warnings) say_("warning: " + warning);
    if (begun == 0 && hasBegun()) begun = now;
    const auto run_ns = static_cast<int64_t>(options_.duration_s * 1e9);
    if (begun != 0 && run_ns > 0 && now - begun >= run_ns) {
      outcome_.stopped_by_duration = true;
      break;
    }
    if (now >= next_check) {
      next_check = now + kCheckNs;
      if (!findsMore(now)) break;
    }
    if (options_.progress && now >= next_progress) {
      next_progress = now + kSecondNs / 5;
      options_.progress(progressOf(*collector_, begun == 0 ? 0 : now - begun));
    }
    drain_pause_.sleep(met);
  }
  return {};
}

/// Looks for new processes. False when there is nothing more to wait for.
bool AttachedSession::findsMore(int64_t now) {
  if (target_.directory.empty()) {
    const auto stat = readProcessStat(target_.pid);
    return stat && stat->runs();
  }
  if (auto ok = captured_->look(now); !ok) {
    outcome_.warnings.push_back(ok.error().toString());
    return false;
  }
  return captured_->hasMembers() || captured_->rootIsAlive();
}

ProfileOutcome AttachedSession::finish() {
  // Keep draining until the processes have ended: their threads may wait for space in the rings.
  captured_->end(monotonicNs());
  while (!captured_->hasEnded(monotonicNs())) drain_pause_.sleep(collector_->poll());
  collector_->setCapturing(false);  // nobody else tells forked children
  warnOfUnrecorded(dir_, outcome_);
  outcome_.trace_status = collector_->finish();
  takeTotals(*collector_, dir_, outcome_);
  warnOfPeers(peers_.get(), outcome_);
  for (std::string& warning : captured_->takeWarnings()) {
    outcome_.warnings.push_back(std::move(warning));
  }
  if (collector_->agentProcesses() == 0 && system_ == nullptr) {
    outcome_.warnings.push_back(fmt::format(
        "nothing was captured: no process of {} used CUDA or NVTX meanwhile", target_.pid));
  }
  takePublished(*collector_, outcome_);
  return std::move(outcome_);
}

}  // namespace

Result<ProfileOutcome> runAttach(uint32_t pid, const ProfileOptions& options,
                                 const std::function<void(const std::string&)>& say) {
  TS_TRY(const std::string directory, directoryFor(pid, options.system.has_value()));
  if (!directory.empty() && access(directory.c_str(), F_OK) == 0) {
    TS_CHECK_OK(checkControlDirectory(directory));
  }
  const FileSizeSignalIgnored no_signal;
  SignalRelay relay;
  relay.followNobody();
  const auto facts = readProcessFacts(pid);
  TS_TRY(SessionDir dir, SessionDir::create(options.output));
  AttachedSession session({pid, directory, facts ? facts->command_line : std::string()}, options,
                          dir, say);
  Status status = session.start();
  if (status) status = session.watch(relay);
  if (!status) {  // do not leave the directory behind
    unlinkUnfinishedTrace(dir);
    dir.remove();
    return tl::unexpected<Error>(std::move(status.error()));
  }
  return session.finish();
}

}  // namespace tracesmith
