// SPDX-License-Identifier: Apache-2.0
// How a process tells the collector that it has given up a file that both map (see
// guarded_mappings.hpp). The word is given in a signal handler and often on a full disk: where no
// note can be made beside the file, the file itself gets a mark, which takes no room.
#pragma once

#include "tracesmith/capture/agents/core/session_folder.hpp"

namespace tracesmith::agent {

struct DamageNote {
  char note[kPathBytes + sizeof(FileName)] = {};
  char file[kPathBytes + sizeof(FileName)] = {};
};

/// Composes both paths. `file` is the name of the mapped file in the session directory, and
/// `suffix` that of the note. Not async-signal-safe.
void prepareDamageNote(DamageNote& out, const char* session, const char* file, const char* suffix);
/// Leaves the note, or the mark. Async-signal-safe; changes errno.
void leaveDamageNote(const DamageNote& prepared);

}  // namespace tracesmith::agent
