// SPDX-License-Identifier: Apache-2.0
// Arenas: files in the session directory, mapped by this process, with rings for its threads.
#pragma once

#include "tracesmith/capture/arena_layout.hpp"

namespace tracesmith::agent {

/// What all arenas of one life of the process have in common.
struct ArenaPlan {
  char session[512] = {};  // directory; empty: nobody captures
  char agent[16] = {};
  uint64_t ring_bytes = 0;  // of the first arenas
  uint64_t first_correlation = 1;
  bool capturing = true;  // from the start
};

struct Arena {
  arena::ArenaHeader* header = nullptr;
  arena::RingHeader* rings = nullptr;
  uint8_t* data = nullptr;
  uint32_t ring_count = 0;
  uint64_t ring_bytes = 0;
};

/// False: errno says why.
bool makeArena(const ArenaPlan& plan, uint32_t number, Arena& out);

/// The path of a file beside the arena of that time and number.
void arenaPath(const ArenaPlan& plan, char (&out)[640], int64_t created_ns, uint32_t number,
               const char* suffix);

/// Prepares a ring that was never used for its first records.
void warmRing(const ArenaPlan& plan, const Arena& arena, uint32_t index);

/// Gives the file up. What lies there from then on is nobody's: what is written there is lost, and
/// harms nobody.
void replaceByMemory(const Arena& arena);

/// Tells the collector, by a file's name, that this process goes unrecorded.
void reportUnrecorded(const ArenaPlan& plan, int error);

}  // namespace tracesmith::agent
