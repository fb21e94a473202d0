// SPDX-License-Identifier: Apache-2.0
// The environment variables that load the agents into a program and configure them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"

namespace tracesmith {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// The settings for agents that are already in a program. `session` is the path of its directory.
Environment settingsFor(const ProfileOptions& options, const std::string& session);
/// The same, plus the variables that load the agents. Fails when an agent library is missing.
Result<Environment> environmentFor(const ProfileOptions& options, const std::string& session);
/// The environment of a program that waits to be captured (`tracesmith arm`).
Result<Environment> armedEnvironment(const std::string& control_directory);

/// Adds the agent library at this path after those that the user preloads. Fails for a path that
/// LD_PRELOAD cannot hold.
Status preload(Environment& env, const std::string& library);

/// The library that another tool has set for the CUDA driver or NVTX to load. "" when the variable
/// is unset or names our agent, as in a program that is already profiled.
std::string otherTool(const char* variable);

/// Whether the platform's agent must enter the program.
bool wantsAgent(const ProfileOptions& options, PlatformType platform);

}  // namespace tracesmith
