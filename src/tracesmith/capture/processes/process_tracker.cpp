// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_tracker.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

// Intervals of looking for processes whose end was not reported.
constexpr int64_t kCheckWithoutEventsNs = 50'000'000;
constexpr int64_t kCheckWithEventsNs = 1'000'000'000;
// How long such a look waits at most for reports of ends that it has seen itself.
constexpr int64_t kReportDelayNs = 20'000'000;

std::string ownExecutable() {
  std::string path(4096, '\0');
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return path;
}

}  // namespace

struct ProcessTracker::Impl {
  ProcessTrackerOptions options;
  std::string connector_problem;
  std::string own_executable = ownExecutable();
  uint32_t own_pid = static_cast<uint32_t>(::getpid());

  mutable std::mutex mutex;  // protects the members below
  DescendantTable table;
  std::optional<ProcessConnector> connector;
  std::optional<ProcessLogReader> log;
  Status connector_status;
  uint64_t overruns_seen = 0;
  int64_t last_check_ns = 0;
  int64_t last_scan_ns = 0;

  int stop_fd = -1;
  std::thread thread;

  ~Impl();
  void listen();
  void drainConnector();
  Result<size_t> drainLog();
  void look(uint32_t pid, bool as_new_program, int64_t now_ns);
  bool runs(const DescendantTable::Live& live) const;
  void findEndedProcesses(int64_t now_ns);
  void scan(int64_t now_ns);
  Status poll(int64_t now_ns);
};

ProcessTracker::Impl::~Impl() {
  if (thread.joinable()) {
    const uint64_t one = 1;
    (void)!::write(stop_fd, &one, sizeof one);
    thread.join();
  }
  if (stop_fd >= 0) ::close(stop_fd);
}

/// Gives the calling thread a high priority, if permitted.
void raisePriority() {
  sched_param lowest_of_real_time{};
  lowest_of_real_time.sched_priority = 1;
  if (::pthread_setschedparam(::pthread_self(), SCHED_RR, &lowest_of_real_time) == 0) return;
  constexpr int kMostUrgent = -20;
  (void)::setpriority(PRIO_PROCESS, 0, kMostUrgent);  // on Linux: for this thread
}

/// The listening thread. A program may end within a millisecond, so it is inspected as soon as it
/// starts.
void ProcessTracker::Impl::listen() {
  raisePriority();
  pollfd waiting[] = {{connector->fd(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
  for (;;) {
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents == 0) continue;
    const std::lock_guard lock(mutex);
    drainConnector();
    if (!connector_status) return;
  }
}

void ProcessTracker::Impl::drainConnector() {
  if (!connector || !connector_status) return;
  const auto drained = connector->drain([&](const ProcessEvent& event) {
    if (table.apply(event)) look(event.pid, false, event.time_ns);
  });
  if (!drained) connector_status = tl::unexpected<Error>(drained.error());
}

void ProcessTracker::Impl::look(uint32_t pid, bool as_new_program, int64_t now_ns) {
  auto facts = readProcessFacts(pid);
  if (!facts) return;
  // Between fork and exec the child is still a copy of this program and tells nothing about the
  // command.
  if (as_new_program && facts->executable == own_executable && pid != own_pid) return;
  DescendantTable::ProcFacts look;
  look.facts = std::move(*facts);
  if (!look.facts.executable.empty()) {
    look.is_static = isStatic(liveProcPath(pid, "exe"));
    if (!options.environment_marker.empty())
      look.has_environment = environmentHas(pid, options.environment_marker);
  }
  table.describe(pid, look, as_new_program, now_ns);
}

Result<size_t> ProcessTracker::Impl::drainLog() {
  if (!log) return size_t{0};
  std::vector<LoggedProcess> records;
  TS_TRY(const size_t count,
         log->drain([&](const LoggedProcess& logged) { records.push_back(logged); }));
  // The kernel reports a fork or exec before the program can write its record. So the events for
  // these records are waiting to be read.
  if (count > 0) drainConnector();
  for (const LoggedProcess& logged : records) {
    // Inside a container it has another pid, which only /proc shows.
    if (logged.pid_namespace != ownPidNamespace() && !table.knows(logged))
      for (const auto& live : table.live())
        if (!live.described) look(live.pid, false, logged.time_ns);
    table.apply(logged);
  }
  return count;
}

bool ProcessTracker::Impl::runs(const DescendantTable::Live& live) const {
  const auto stat = readProcessStat(live.pid);
  if (!stat) return false;
  const uint64_t slack = live.start_ticks_exact ? 0 : 2;
  if (stat->start_ticks + slack < live.start_ticks) return false;
  if (live.start_ticks + slack < stat->start_ticks) return false;
  return stat->runs();
}

void ProcessTracker::Impl::findEndedProcesses(int64_t now_ns) {
  last_check_ns = now_ns;
  std::unordered_set<uint32_t> gone;
  for (const auto& live : table.live())
    if (!runs(live)) gone.insert(live.pid);
  if (gone.empty()) return;
  // All its records are in the log by now, perhaps of another program than the known one.
  (void)drainLog();  // the next poll() reports a failure
  drainConnector();
  // The kernel wakes the parent, and shows a zombie, some µs before it reports the end.
  const int64_t report_by_ns = monotonicNs() + kReportDelayNs;
  const auto awaited = [&](uint32_t pid) { return table.isLive(pid); };
  while (connector && connector_status && std::any_of(gone.begin(), gone.end(), awaited) &&
         monotonicNs() < report_by_ns) {
    ::usleep(200);
    drainConnector();
  }
  for (const auto& live : table.live()) {
    if (gone.count(live.pid) == 0 || runs(live)) continue;
    if (const auto exit = live.has_log ? log->exitOf(live.log_offset) : std::nullopt;
        exit && exit->time_ns >= live.start_ns && exit->time_ns <= monotonicNs())
      table.noteLoggedExit(live.pid, *exit);
    table.noteGone(live.pid, now_ns);
  }
}

/// Finds descendants by their parents' pids, and changed programs.
void ProcessTracker::Impl::scan(int64_t now_ns) {
  last_scan_ns = now_ns;
  const auto all = listProcesses();
  for (bool found = true; found;) {
    found = false;
    for (const ListedProcess& p : all)
      found |= table.adopt(p.pid, p.stat.parent_pid, p.stat.start_ticks, now_ns);
  }
  for (const auto& live : table.live()) look(live.pid, true, now_ns);
}

Status ProcessTracker::Impl::poll(int64_t now_ns) {
  // Repeat until the log has nothing new, so that it is not behind the events.
  for (int round = 0; round < 4; ++round) {
    TS_TRY(const size_t records, drainLog());
    drainConnector();
    if (records == 0) break;
  }
  const bool events = connector && connector_status;
  const bool overrun = connector && connector->overruns() != overruns_seen;
  if (overrun) overruns_seen = connector->overruns();
  if (overrun || (!events && now_ns - last_scan_ns >= kScanIntervalNs)) scan(now_ns);
  const int64_t interval = events && !overrun ? kCheckWithEventsNs : kCheckWithoutEventsNs;
  if (overrun || now_ns - last_check_ns >= interval) findEndedProcesses(now_ns);
  return connector_status;
}

ProcessTracker::ProcessTracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessTracker::~ProcessTracker() = default;

Result<std::unique_ptr<ProcessTracker>> ProcessTracker::start(ProcessTrackerOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  if (!impl->options.log_path.empty()) {
    TS_TRY(ProcessLogReader log, ProcessLogReader::open(impl->options.log_path));
    impl->log.emplace(std::move(log));
  }
  impl->table.expectChildOf(impl->own_pid);
  if (!impl->options.use_connector) {
    impl->connector_problem = "not requested";
  } else if (auto connector = ProcessConnector::open(); !connector) {
    impl->connector_problem = connector.error().toString();
  } else {
    impl->connector.emplace(std::move(*connector));
    impl->stop_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (impl->stop_fd < 0) return failErrno(errno, "cannot make an event descriptor");
    // Signals are for the threads of the calling program.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    impl->thread = std::thread([raw = impl.get()] { raw->listen(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  return std::unique_ptr<ProcessTracker>(new ProcessTracker(std::move(impl)));
}

void ProcessTracker::setRoot(uint32_t pid, const std::string& command_line) {
  const std::lock_guard lock(impl_->mutex);
  impl_->drainConnector();
  const auto stat = readProcessStat(pid);
  const bool forked_before_our_eyes = impl_->table.isLive(pid);
  impl_->table.setRoot(pid, stat ? std::optional(*stat) : std::nullopt, command_line);
  if (!forked_before_our_eyes) impl_->scan(monotonicNs());
}

void ProcessTracker::addRoot(uint32_t pid) {
  const std::lock_guard lock(impl_->mutex);
  impl_->drainConnector();
  const auto stat = readProcessStat(pid);
  const int64_t now_ns = monotonicNs();
  if (!stat || !impl_->table.addRoot(pid, *stat, now_ns)) return;
  impl_->look(pid, true, now_ns);
  impl_->scan(now_ns);  // it may have children already
}

Status ProcessTracker::poll(int64_t now_ns) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->poll(now_ns);
}

void ProcessTracker::noteAgent(uint32_t pid, uint64_t start_ticks) {
  const std::lock_guard lock(impl_->mutex);
  impl_->table.noteAgent(pid, start_ticks);
}

void ProcessTracker::noteRootExit(int exit_code, int signal, int64_t now_ns) {
  const std::lock_guard lock(impl_->mutex);
  impl_->drainConnector();
  impl_->table.noteRootExit(exit_code, signal, now_ns);
}

std::vector<ProcessRecord> ProcessTracker::processes(int64_t now_ns) {
  const std::lock_guard lock(impl_->mutex);
  (void)impl_->poll(now_ns);  // poll() reports a failure to read events
  impl_->findEndedProcesses(now_ns);
  return impl_->table.records(now_ns);
}

std::vector<std::pair<uint32_t, uint64_t>> ProcessTracker::running() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::pair<uint32_t, uint64_t>> out;
  for (const auto& live : impl_->table.live()) {
    if (live.start_ticks_exact) out.emplace_back(live.pid, live.start_ticks);
  }
  return out;
}

bool ProcessTracker::isAnyAlive() const {
  const std::lock_guard lock(impl_->mutex);
  return !impl_->table.live().empty();
}

ProcessTrackerLosses ProcessTracker::losses() const {
  const std::lock_guard lock(impl_->mutex);
  ProcessTrackerLosses losses;
  if (impl_->connector) losses.lost_events = impl_->connector->lostEvents();
  if (impl_->log) losses.damaged_records = impl_->log->damaged();
  return losses;
}

bool ProcessTracker::hasConnector() const { return impl_->connector_problem.empty(); }
const std::string& ProcessTracker::connectorProblem() const { return impl_->connector_problem; }

}  // namespace tracesmith
