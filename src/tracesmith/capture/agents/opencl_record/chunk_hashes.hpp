// SPDX-License-Identifier: Apache-2.0
// Hashes the chunks of a large payload on several threads.
#pragma once

#include <stdint.h>

#include "tracesmith/recording/content.hpp"

namespace tracesmith::record {

/// One thread hashes smaller payloads faster.
inline constexpr uint64_t kSharedHashBytes = 4 * recording::kChunkBytes;
/// Bytes hashed at once; signals of the calling thread are blocked for that time.
inline constexpr uint64_t kHashBatchBytes = 32 * recording::kChunkBytes;

/// Writes the hashes of the chunks of `bytes` (at most kHashBatchBytes) at `at` to `hashes`, one
/// per kChunkBytes and one for the rest. The first call starts helper threads: as many as there are
/// processors for the process beside the calling thread's, at most three. If none can be started,
/// or they are busy for another thread, the calling thread hashes alone. Helpers do not touch the
/// memory after the return. Once the recording has ended, `hashes` stays unchanged.
void hashChunks(const uint8_t* at, uint64_t bytes, recording::ContentHash* hashes);

}  // namespace tracesmith::record
