// SPDX-License-Identifier: Apache-2.0
// The content of a memory object for people: bytes, values of a type, or what they are like.
#pragma once

#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith::cli {

/// `form`: "hex", "stats", "raw" (the bytes alone), or a type of OpenCL C ("float").
void writeMemoryDump(const ReplayPlan& plan, const Dump& dump, const std::string& form,
                     Output& out);

}  // namespace tracesmith::cli
