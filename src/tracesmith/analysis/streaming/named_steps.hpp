// SPDX-License-Identifier: Apache-2.0
// The steps that a trace names, read block by block.
#pragma once

#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_scan.hpp"

namespace tracesmith {

/// stepsOf() of a trace with ranges that name steps. Steps::From::kNowhere: it has none, and steps
/// may be inferred from its kernels, which needs them all.
Result<Steps> readNamedSteps(TraceScan& scan);

}  // namespace tracesmith
