// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/tool_run.hpp"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace tracesmith::import {
namespace {

constexpr size_t kSaidBytes = 2048;  // bytes of a failed tool's output in the error

/// Reads everything from `fd` and returns the last part.
std::string lastOf(int fd) {
  std::string said;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    said.append(piece.data(), static_cast<size_t>(n));
    if (said.size() > 2 * kSaidBytes) said.erase(0, said.size() - kSaidBytes);
  }
  if (said.size() > kSaidBytes) said.erase(0, said.size() - kSaidBytes);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  return said;
}

}  // namespace

std::string findTool(const std::string& name) {
  const char* set = ::getenv("PATH");
  std::string_view path = set == nullptr ? "" : set;
  while (!path.empty()) {
    const size_t end = path.find(':');
    const std::string folder(path.substr(0, end));
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return {};
}

Status runTool(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) return failErrno(errno, "cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(output[1]);
  if (error != 0) {
    ::close(output[0]);
    return failErrno(error, "cannot be executed", command[0]);
  }
  const std::string said = lastOf(output[0]);
  ::close(output[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string what = WIFSIGNALED(status)
                         ? "was terminated by signal " + std::to_string(WTERMSIG(status))
                         : "failed with exit code " + std::to_string(WEXITSTATUS(status));
  if (!said.empty()) what += ": " + said;
  return fail(ErrorCode::kIo, std::move(what), command[0]);
}

Result<WorkFolder> WorkFolder::create(const std::string& parent) {
  const char* set = ::getenv("TMPDIR");
  const std::string temporary = set != nullptr && *set == '/' ? set : "/tmp";
  const std::string in = parent.empty() ? temporary : parent;
  std::string path = in + "/tracesmith-work-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return failErrno(errno, "cannot create a directory", in);
  return WorkFolder(std::move(path));
}

WorkFolder::~WorkFolder() {
  std::error_code ec;
  if (!path_.empty()) std::filesystem::remove_all(path_, ec);
}

}  // namespace tracesmith::import
