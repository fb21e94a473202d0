// SPDX-License-Identifier: Apache-2.0
// Hashes of the chunks of a large payload, by several threads at once.
#pragma once

#include <stdint.h>

#include "tracesmith/recording/content.hpp"

namespace tracesmith::record {

/// Payloads of fewer bytes are hashed sooner by one thread.
inline constexpr uint64_t kSharedHashBytes = 4 * recording::kChunkBytes;
/// So much is hashed at once: for as long signals of the calling thread wait.
inline constexpr uint64_t kHashBatchBytes = 32 * recording::kChunkBytes;

/// Writes the hashes of the chunks of `bytes` (at most kHashBatchBytes) at `at` to `hashes`, one
/// for each kChunkBytes and the rest. Threads of the recorder help: as many as the process may use
/// processors beside the calling one, at most three; they are started by the first call. When none
/// can be started, or they are busy for another thread, the calling thread does it alone. Nothing
/// of theirs touches the memory after the return. Once the recording has ended hashes are left as
/// they were.
void hashChunks(const uint8_t* at, uint64_t bytes, recording::ContentHash* hashes);

}  // namespace tracesmith::record
