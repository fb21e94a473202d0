// SPDX-License-Identifier: Apache-2.0
// The environment variables that let our agents into a program, and tell them what is wanted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// What is wanted of agents that are in a program.
Environment settingsFor(const ProfileOptions& options, const SessionDir& dir);
/// The same, and what lets them in. Fails where a library of ours is missing.
Result<Environment> environmentFor(const ProfileOptions& options, const SessionDir& dir);
/// Of a program that is to wait until it is captured.
Result<Environment> armedEnvironment(const std::string& control_directory);

/// Adds a library of ours (its path) behind those that the user preloads. Fails for a path that
/// LD_PRELOAD cannot hold.
Status preload(Environment& env, const std::string& library);

/// What another tool has the CUDA driver, or NVTX, load; "" where that is our agent, as in a
/// program that we profile ourselves, or nothing.
std::string otherTool(const char* variable);

/// The platform's agent is to enter the program.
bool wants(const ProfileOptions& options, PlatformType platform);

}  // namespace tracesmith
