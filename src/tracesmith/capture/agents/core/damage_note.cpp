// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/damage_note.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/capture/protocol/unrecorded_layout.hpp"

namespace tracesmith::agent {

void prepareDamageNote(DamageNote& out, const char* session, const char* file, const char* suffix) {
  snprintf(out.note, sizeof out.note, "%s/%d.%d.%d%s", session, getpid(), EIO,
           static_cast<int>(arena::ArmStep::kDamaged), suffix);
  snprintf(out.file, sizeof out.file, "%s/%s", session, file);
}

void leaveDamageNote(const DamageNote& prepared) {
  const int fd = open(prepared.note, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) {
    close(fd);
  } else {
    (void)chmod(prepared.file, 0600 | arena::kGivenUpMode);
  }
}

}  // namespace tracesmith::agent
