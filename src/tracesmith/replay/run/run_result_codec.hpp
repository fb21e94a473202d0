// SPDX-License-Identifier: Apache-2.0
// Encodes a RunResult as bytes, for the pipe from the replaying child process to its parent.
#pragma once

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

Bytes encodeRunResult(const RunResult& result);
/// False if `bytes` is not a complete result.
bool decodeRunResult(ByteView bytes, RunResult& result);

}  // namespace tracesmith
