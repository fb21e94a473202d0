// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::cli {

/// What Studio says of the file of a trace. Of `trace`, times must have been read.
studio::StudioTrace::Source studioSource(const Trace& trace, const TraceReader& reader,
                                         const std::string& path, bool complete,
                                         uint64_t generation = 1);

}  // namespace tracesmith::cli
