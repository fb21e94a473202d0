// SPDX-License-Identifier: Apache-2.0
// Prints the content of a memory object: bytes, typed values, or statistics.
#pragma once

#include <string>

#include "tracesmith/export/output/output.hpp"
#include "tracesmith/replay/run/replay_run.hpp"

namespace tracesmith::cli {

/// `form`: "hex", "stats", "raw" (only the bytes), or an OpenCL C type ("float").
void writeMemoryDump(const ReplayPlan& plan, const Dump& dump, const std::string& form,
                     Output& out);

}  // namespace tracesmith::cli
