// SPDX-License-Identifier: Apache-2.0
// Arenas: files in the session directory, mapped by this process, with rings for its threads.
#pragma once

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/capture/agents/core/session_folder.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::agent {

/// Settings shared by all arenas of one life of the process.
struct ArenaPlan {
  char session[kPathBytes] = {};  // directory; empty: no capture
  char agent[16] = {};
  uint64_t ring_bytes = 0;  // of the first arenas, see arena::ringBytesOf()
  uint64_t first_correlation = 1;
  bool capturing = true;  // initial state
  mappings::OnDamage on_damage = nullptr;
};

struct Arena {
  arena::ArenaHeader* header = nullptr;
  arena::RingHeader* rings = nullptr;
  uint8_t* data = nullptr;
  uint32_t ring_count = 0;
  uint64_t ring_bytes = 0;
};

/// False: errno is set and `failed` is the step that failed.
bool makeArena(const ArenaPlan& plan, uint32_t number, Arena& out, arena::ArmStep& failed);

/// The name of a file that belongs to the arena with this creation time and number.
void arenaName(FileName& out, int64_t created_ns, uint32_t number, const char* suffix);

/// Prepares an unused ring for its first records.
void prefaultRing(const ArenaPlan& plan, const Arena& arena, uint32_t index);

/// Abandons the file and puts private memory in its place. Later writes to the arena are lost but
/// safe.
void replaceByMemory(const Arena& arena);

}  // namespace tracesmith::agent
