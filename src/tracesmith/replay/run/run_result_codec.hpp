// SPDX-License-Identifier: Apache-2.0
// A RunResult as bytes, for the pipe between the process that replays and the one that watches.
#pragma once

#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith {

Bytes encodeRunResult(const RunResult& result);
/// False for bytes that are not a whole result.
bool decodeRunResult(ByteView bytes, RunResult& result);

}  // namespace tracesmith
