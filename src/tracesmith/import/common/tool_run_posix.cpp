// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracesmith/import/common/tool_run.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace tracesmith::import {

Status runTool(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int output[2];
  if (::pipe(output) != 0) return failErrno(errno, "cannot create a pipe");
  for (const int end : output) (void)::fcntl(end, F_SETFD, FD_CLOEXEC);
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
  const std::string said = lastOutputOf(output[0]);
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

}  // namespace tracesmith::import
