// SPDX-License-Identifier: Apache-2.0
// Captures processes that run already, if they were started with `tracesmith arm`: what
// `tracesmith record --pid` does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"

namespace tracesmith {

/// Captures process `pid` and those of its descendants that are armed, also such as come
/// meanwhile, until `options.duration_s` (from the first one on) is over, SIGINT, SIGTERM or SIGHUP
/// comes, or all have ended. They run on. Of the options `command`, `injection`, `platform`,
/// `record` and `functions` mean nothing here. `say` is told what is being waited for. Errors:
/// kNotFound (no such process), kUnsupported (it is not armed, or lives in another container),
/// kPermission, kInvalidArgument (it is captured already).
Result<ProfileOutcome> runAttach(uint32_t pid, const ProfileOptions& options,
                                 const std::function<void(const std::string&)>& say);

}  // namespace tracesmith
