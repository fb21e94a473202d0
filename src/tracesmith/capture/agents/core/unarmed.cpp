// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/unarmed.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracesmith/capture/agents/core/process_identity.hpp"
#include "tracesmith/capture/agents/core/session_folder.hpp"
#include "tracesmith/capture/protocol/control_layout.hpp"

namespace tracesmith::agent {

void reportUnarmed(int error, arena::ArmStep step) {
  const int before = errno;
  const char* const directory = getenv(control::kEnvDirectory);
  if (directory == nullptr || *directory == 0) return;
  static arena::ArenaHeader identity;  // too large for the stack of an arbitrary thread
  fillProcessIdentity(identity);
  FileName name;
  snprintf(name, sizeof name, "%u.%llu.%d.%d%s", identity.pid,
           static_cast<unsigned long long>(identity.start_ticks), error, static_cast<int>(step),
           control::kUnarmedSuffix);
  const SessionFolder folder(directory);
  const int fd = openat(folder.fd(), name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) close(fd);
  errno = before;
}

}  // namespace tracesmith::agent
