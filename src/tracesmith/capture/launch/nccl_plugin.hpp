// SPDX-License-Identifier: Apache-2.0
// Has NCCL and RCCL load our profiler plugin, which passes everything on to the user's own.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/launch/agent_environment.hpp"

namespace tracesmith {

/// Sets NCCL_PROFILER_PLUGIN, and the variable that tells our plugin the user's value.
Status addNcclPlugin(Environment& env);

/// The plugin that the user has chosen: by the variable, or by the first of NCCL's files that sets
/// it (NCCL_CONF_FILE or ~/.nccl.conf, then /etc/nccl.conf). nullopt: none, so NCCL takes its
/// default.
std::optional<std::string> chosenNcclPlugin();

}  // namespace tracesmith
