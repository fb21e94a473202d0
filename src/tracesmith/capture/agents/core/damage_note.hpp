// SPDX-License-Identifier: Apache-2.0
// How a process tells the collector that it has abandoned a file that both map (see
// guarded_mappings.hpp). It does so in a signal handler and often on a full disk. If it cannot
// create a note beside the file, it marks the file itself, which takes no disk space.
#pragma once

#include "tracesmith/capture/agents/core/session_folder.hpp"

namespace tracesmith::agent {

struct DamageNote {
  char note[kPathBytes + sizeof(FileName)] = {};
  char file[kPathBytes + sizeof(FileName)] = {};
};

/// Composes both paths. `file` is the name of the mapped file in the session directory, `suffix`
/// that of the note. Not async-signal-safe.
void prepareDamageNote(DamageNote& out, const char* session, const char* file, const char* suffix);
/// Creates the note, or else sets the mark. Async-signal-safe; changes errno.
void leaveDamageNote(const DamageNote& prepared);

}  // namespace tracesmith::agent
