// SPDX-License-Identifier: Apache-2.0
// This machine, for someone who wants to record on it.
#pragma once

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith::cli {

/// kUnsupported: this build only reads traces.
Status describeThisSystem(bool json, bool colour, Output& out);
/// The same.
Result<topology::Topology> topologyOfThisSystem();

}  // namespace tracesmith::cli
