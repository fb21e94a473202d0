// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/launcher.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tracesmith/base/files/file_text.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace tracesmith {
namespace {

constexpr std::array kRelayed = {SIGINT, SIGTERM, SIGHUP};

std::atomic<pid_t> g_program{0};
std::atomic<int> g_stops{0};
std::atomic<int> g_early{0};  // signal that arrived before there was a program
std::array<struct sigaction, kRelayed.size()> g_previous;
sigset_t g_previous_mask;
bool g_relaying = false;
struct sigaction g_previous_xfsz;
bool g_ignoring_xfsz = false;

void onStopSignal(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  g_stops.fetch_add(1);
  // The terminal signals its whole foreground group, which includes the program: do not send twice.
  const bool from_a_process =
      info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
  const pid_t program = g_program.load();
  if (program == 0) g_early.store(signal);
  if (from_a_process && program > 0) kill(program, signal);
  errno = saved_errno;
}

/// In the child: restores the caller's signal handling for the program.
void restoreSignals() {
  if (g_ignoring_xfsz) sigaction(SIGXFSZ, &g_previous_xfsz, nullptr);
  if (!g_relaying) return;
  for (size_t i = 0; i < kRelayed.size(); ++i) sigaction(kRelayed[i], &g_previous[i], nullptr);
  sigprocmask(SIG_SETMASK, &g_previous_mask, nullptr);
}

std::vector<std::string> environmentWith(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& [key, value] : added) replaced = replaced || key == name;
    if (!replaced) out.emplace_back(entry);
  }
  for (const auto& [key, value] : added) out.push_back(key + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

/// Why a program could not be executed.
Error execError(int exec_errno, const std::string& program) {
  if (exec_errno == ENOENT || exec_errno == ENOTDIR) {
    return {ErrorCode::kNotFound, "command not found", program};
  }
  return {ErrorCode::kPermission, std::string("cannot be executed: ") + std::strerror(exec_errno),
          program};
}

}  // namespace

Error execProgram(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environmentWith(environment);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(variables);
  execvpe(argv[0], argv.data(), envp.data());
  return execError(errno, command[0]);
}

Result<Launcher> Launcher::start(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& environment,
    const std::function<Status(pid_t)>& before_exec) {
  if (command.empty()) return fail(ErrorCode::kInvalidArgument, "no command to run");
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environmentWith(environment);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(variables);

  // exec closes this pipe; a failed exec sends its errno through it.
  int report[2];
  // The child waits for a byte of this one.
  int hold[2];
  if (pipe2(report, O_CLOEXEC) != 0) return failErrno(errno, "cannot make a pipe");
  if (pipe2(hold, O_CLOEXEC) != 0) {
    const int pipe_errno = errno;
    close(report[0]);
    close(report[1]);
    return failErrno(pipe_errno, "cannot make a pipe");
  }
  const pid_t pid = fork();
  if (pid < 0) {
    const int fork_errno = errno;
    for (const int fd : {report[0], report[1], hold[0], hold[1]}) close(fd);
    return failErrno(fork_errno, "cannot start a process");
  }
  if (pid == 0) {
    close(hold[1]);
    char go = 0;
    ssize_t got = 0;
    do {
      got = read(hold[0], &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) _exit(127);  // who started it is gone
    restoreSignals();
    execvpe(argv[0], argv.data(), envp.data());
    const int exec_errno = errno;
    [[maybe_unused]] const ssize_t n = write(report[1], &exec_errno, sizeof exec_errno);
    _exit(127);
  }
  close(report[1]);
  close(hold[0]);
  Status ready = before_exec ? before_exec(pid) : Status();
  if (ready && write(hold[1], "g", 1) != 1) ready = failErrno(errno, "cannot start the program");
  close(hold[1]);  // without the byte, it ends
  int exec_errno = 0;
  ssize_t n = 0;
  do {
    n = read(report[0], &exec_errno, sizeof exec_errno);
  } while (n < 0 && errno == EINTR);
  close(report[0]);
  if (!ready || n == static_cast<ssize_t>(sizeof exec_errno)) {
    int ignored = 0;
    waitpid(pid, &ignored, 0);
    if (!ready) return tl::unexpected<Error>(ready.error());
    return tl::unexpected<Error>(execError(exec_errno, command[0]));
  }
  return Launcher(pid);
}

std::optional<ExitStatus> Launcher::poll() {
  if (status_) return status_;
  int status = 0;
  const pid_t got = waitpid(pid_, &status, WNOHANG);
  if (got != pid_) return std::nullopt;
  if (WIFSIGNALED(status)) {
    status_ = ExitStatus{128 + WTERMSIG(status), WTERMSIG(status)};
  } else {
    status_ = ExitStatus{WEXITSTATUS(status), 0};
  }
  return status_;
}

void Launcher::send(int signal) const {
  if (!status_) kill(pid_, signal);
}

SignalRelay::SignalRelay() {
  g_program.store(0);
  g_stops.store(0);
  g_early.store(0);
  sigset_t relayed;
  sigemptyset(&relayed);
  for (const int signal : kRelayed) sigaddset(&relayed, signal);
  pthread_sigmask(SIG_BLOCK, &relayed, &g_previous_mask);
  struct sigaction action {};
  action.sa_sigaction = onStopSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kRelayed.size(); ++i) {
    sigaction(kRelayed[i], nullptr, &g_previous[i]);
    // A signal that the caller ignored (nohup) stays ignored, also in the program.
    if (g_previous[i].sa_handler != SIG_IGN) sigaction(kRelayed[i], &action, nullptr);
  }
  g_relaying = true;
}

void SignalRelay::follow(const Launcher& program) {
  g_program.store(program.pid());
  // Another thread that did not block the signal may have received it.
  if (const int early = g_early.exchange(0)) kill(program.pid(), early);
  pthread_sigmask(SIG_SETMASK, &g_previous_mask, nullptr);
}

void SignalRelay::followNobody() { pthread_sigmask(SIG_SETMASK, &g_previous_mask, nullptr); }

SignalRelay::~SignalRelay() {
  g_program.store(0);
  g_relaying = false;
  for (size_t i = 0; i < kRelayed.size(); ++i) sigaction(kRelayed[i], &g_previous[i], nullptr);
  pthread_sigmask(SIG_SETMASK, &g_previous_mask, nullptr);
}

FileSizeSignalIgnored::FileSizeSignalIgnored() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &g_previous_xfsz);
  g_ignoring_xfsz = true;
}

FileSizeSignalIgnored::~FileSizeSignalIgnored() {
  g_ignoring_xfsz = false;
  sigaction(SIGXFSZ, &g_previous_xfsz, nullptr);
}

int SignalRelay::stops() const { return g_stops.load(); }

Result<std::string> findAgentLibrary(const std::string& file_name) {
  std::vector<std::filesystem::path> places;
  std::error_code ec;
  if (const char* dir = std::getenv("TRACESMITH_AGENT_DIR"); dir != nullptr && *dir != 0) {
    places.emplace_back(dir);  // and no other place: the agent of another build would be a surprise
  } else {
    const auto exe = std::filesystem::read_symlink("/proc/self/exe", ec);
    if (!ec) places.push_back(exe.parent_path().parent_path() / "lib" / "tracesmith");
    // For a library that contains this code, such as the Python module: the directory beside it.
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&findAgentLibrary), &own) != 0) {
      const auto beside = std::filesystem::path(own.dli_fname).parent_path() / "lib" / "tracesmith";
      if (std::filesystem::exists(beside, ec)) places.push_back(beside);
    }
#ifdef TRACESMITH_AGENT_DIR
    places.emplace_back(TRACESMITH_AGENT_DIR);
#endif
  }
  std::string looked;
  for (const auto& place : places) {
    const auto path = place / file_name;
    if (std::filesystem::exists(path, ec)) return std::filesystem::absolute(path).string();
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  return fail(ErrorCode::kNotFound,
              "the agent's library is missing; looked in " + looked +
                  " (TRACESMITH_AGENT_DIR names another place)",
              file_name);
}

bool icdLoaderHasLayers() {
  void* handle = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return false;
  Dl_info info{};
  const void* symbol = dlsym(handle, "clGetPlatformIDs");
  bool found = false;
  if (symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr) {
    // A loader that reads the variable contains its name.
    const std::string bytes = readFileText(info.dli_fname).value_or("");
    found = bytes.find("OPENCL_LAYERS") != std::string::npos;
  }
  dlclose(handle);
  return found;
}

}  // namespace tracesmith
