// SPDX-License-Identifier: Apache-2.0
// Arenas: files in the session directory, mapped by this process, with rings for its threads.
#pragma once

#include "tracesmith/base/guarded_mappings.hpp"
#include "tracesmith/capture/agents/core/session_folder.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// What all arenas of one life of the process have in common.
struct ArenaPlan {
  char session[kPathBytes] = {};  // directory; empty: nobody captures
  char agent[16] = {};
  uint64_t ring_bytes = 0;  // of the first arenas
  uint64_t first_correlation = 1;
  bool capturing = true;  // from the start
  mappings::OnDamage on_damage = nullptr;
};

struct Arena {
  arena::ArenaHeader* header = nullptr;
  arena::RingHeader* rings = nullptr;
  uint8_t* data = nullptr;
  uint32_t ring_count = 0;
  uint64_t ring_bytes = 0;
};

/// False: errno and `failed` say why.
bool makeArena(const ArenaPlan& plan, uint32_t number, Arena& out, arena::ArmStep& failed);

/// The name of a file beside the arena of that time and number.
void arenaName(FileName& out, int64_t created_ns, uint32_t number, const char* suffix);

/// Prepares a ring that was never used for its first records.
void warmRing(const ArenaPlan& plan, const Arena& arena, uint32_t index);

/// Gives the file up. What lies there from then on is nobody's: what is written there is lost, and
/// harms nobody.
void replaceByMemory(const Arena& arena);

}  // namespace tracesmith::agent
