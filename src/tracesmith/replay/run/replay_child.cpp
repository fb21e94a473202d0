// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/replay_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <optional>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/replay/run/pair_run.hpp"
#include "tracesmith/replay/run/run_result_codec.hpp"
#include "tracesmith/replay/run/scratch_folder.hpp"
#include "tracesmith/replay/run/twin_run.hpp"

namespace tracesmith {
namespace {

constexpr int kPollMs = 100;

/// Memory shared with the forked child.
class SharedProgress {
 public:
  SharedProgress() {
    void* p = mmap(nullptr, sizeof(RunProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    if (p != MAP_FAILED) progress_ = new (p) RunProgress();
  }
  ~SharedProgress() {
    if (progress_ != nullptr) munmap(progress_, sizeof(RunProgress));
  }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  RunProgress* get() { return progress_; }

 private:
  RunProgress* progress_ = nullptr;
};

bool writeAll(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

/// The first byte on the pipe: a result or an error message follows.
constexpr uint8_t kResult = 'R';
constexpr uint8_t kError = 'E';

[[noreturn]] void beChild(const ReplayPlan& plan, RecordingReader& reader,
                          const ChildSettings& settings, RunProgress* progress, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Kernels' printf output belongs to the program, so it must not mix with the output of this tool.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  for (const auto& [name, value] : settings.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  // Disable OpenCL layers: no agent should observe the replay.
  unsetenv("OPENCL_LAYERS");
  Bytes message;
  ExecutorOptions options = settings.executor;
  options.drops_unrecorded_reads =
      !settings.twins && settings.pairs.empty() && settings.run.given_order.empty();
  auto executor = openClExecutor(plan, reader, options);
  options.noise = settings.twin_noise;
  auto twin = settings.twins && executor ? openClExecutor(plan, reader, options)
                                         : Result<std::unique_ptr<Executor>>();
  if (!executor || !twin) {
    const Error& error = executor ? twin.error() : executor.error();
    const std::string text = error.toString();
    message = {kError, static_cast<uint8_t>(error.code)};
    message.insert(message.end(), text.begin(), text.end());
  } else {
    const RunResult result = settings.twins ? runTwins(plan, **executor, **twin, progress)
                             : !settings.pairs.empty()
                                 ? runPairs(plan, **executor, settings.pairs, progress)
                                 : runPlan(plan, reader, **executor, settings.run, progress);
    message = encodeRunResult(result);
    message.insert(message.begin(), kResult);
  }
  writeAll(out, message);
  // Exit without unloading drivers: that is not part of the replay.
  _exit(0);
}

/// Whether an OpenCL driver is loaded. A driver exports one of the two functions with which loaders
/// find its platforms (cl_khr_icd). Loaders export the second one as well, so a library with that
/// one is a driver only if it lacks the other calls of OpenCL.
bool hasDriver() {
  return anyModule([](const LoadedModule& module) {
    return findExport(module, "clIcdGetPlatformIDsKHR") != nullptr ||
           (findExport(module, "clGetExtensionFunctionAddress") != nullptr &&
            findExport(module, "clGetPlatformIDs") == nullptr);
  });
}

double limitOf(const ReplayPlan& plan, StepIndex step, double limit_s) {
  const bool takes_longer = step >= plan.steps().size() ||
                            plan.step(step).kind() == recording::CommandKind::kBuildProgram;
  return takes_longer ? 10 * limit_s : limit_s;
}

Status checkPossible(const ChildSettings& settings) {
  if (!(settings.step_limit_s > 0)) {
    return fail(ErrorCode::kInvalidArgument, "must be more than 0 s", "the time limit");
  }
  if (hasDriver()) {
    return fail(ErrorCode::kUnsupported,
                "this process has loaded an OpenCL driver. A replay runs in a forked child, which "
                "lacks the driver's threads and would wait for them; use a new process, or the "
                "command tracesmith");
  }
  return {};
}

/// How the child ended: by its message, by the limit, or by its exit status.
void setEnd(ChildOutcome& outcome, bool hung, int status, const Bytes& message) {
  if (!outcome.error.message.empty()) {
    outcome.end = ChildEnd::kFailed;
  } else if (hung) {
    outcome.end = ChildEnd::kHung;
  } else if (!message.empty() && message[0] == kResult &&
             decodeRunResult(ByteView(message).subspan(1), outcome.result)) {
    outcome.end = ChildEnd::kDone;
  } else if (message.size() > 2 && message[0] == kError) {
    outcome.error = {static_cast<ErrorCode>(message[1]),
                     std::string(message.begin() + 2, message.end()), ""};
  } else {
    outcome.end = ChildEnd::kDied;
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  }
}

}  // namespace

ChildOutcome runInChild(const ReplayPlan& plan, RecordingReader& reader,
                        const ChildSettings& settings) {
  ChildOutcome outcome;
  if (const Status possible = checkPossible(settings); !possible) {
    outcome.error = possible.error();
    return outcome;
  }
  SharedProgress shared;
  // Owned by the parent, so that it is removed whatever happens to the child.
  std::optional<ScratchFolder> included;
  ChildSettings given = settings;
  if (plan.includesFiles()) given.executor.include_folder = included.emplace().path();
  int fds[2];
  if (shared.get() == nullptr || pipe2(fds, O_CLOEXEC) != 0) {
    outcome.error = failErrno(errno, "cannot start a replay").value();
    return outcome;
  }
  RunProgress& progress = *shared.get();
  progress.since_ns.store(monotonicNs());
  const pid_t pid = fork();
  if (pid < 0) {
    outcome.error = failErrno(errno, "cannot start a process").value();
    close(fds[0]);
    close(fds[1]);
    return outcome;
  }
  if (pid == 0) {
    close(fds[0]);
    beChild(plan, reader, given, &progress, fds[1]);
  }
  close(fds[1]);
  Bytes message;
  bool hung = false;
  for (;;) {
    pollfd p{fds[0], POLLIN, 0};
    const int ready = poll(&p, 1, kPollMs);
    if (ready > 0) {
      uint8_t chunk[65536];
      const ssize_t n = read(fds[0], chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      message.insert(message.end(), chunk, chunk + n);
      continue;
    }
    if (const Status wanted = checkCancelled(); !wanted) {
      outcome.error = wanted.error();
      kill(pid, SIGKILL);
      message.clear();
      break;
    }
    if (settings.progress) settings.progress(progress);
    const double since_s = static_cast<double>(monotonicNs() - progress.since_ns.load()) * 1e-9;
    const double limit_s = limitOf(plan, progress.step.load(), settings.step_limit_s);
    if (message.empty() && since_s > limit_s) {
      hung = true;
      outcome.limit_s = limit_s;
      kill(pid, SIGKILL);
      break;
    }
  }
  close(fds[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  // The child, whose driver may have gone wild, can write anything there.
  const StepIndex step = progress.step.load();
  outcome.step = step < plan.steps().size() ? step : kNoStep;
  setEnd(outcome, hung, status, message);
  return outcome;
}

std::string describeEnd(const ChildOutcome& outcome) {
  switch (outcome.end) {
    case ChildEnd::kDone:
      return "completed";
    case ChildEnd::kFailed:
      return outcome.error.toString();
    case ChildEnd::kHung:
      return fmt::format("hung (no end within {} s)", outcome.limit_s);
    case ChildEnd::kDied:
      break;
  }
  if (outcome.signal == 0)
    return fmt::format("the driver ended it with exit code {}", outcome.exit_code);
  return fmt::format("ended by signal {} ({})", outcome.signal, strsignal(outcome.signal));
}

}  // namespace tracesmith
