// SPDX-License-Identifier: Apache-2.0
// Captures running processes that were started with `tracesmith arm`, for `tracesmith record
// --pid`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"

namespace tracesmith {

/// Captures process `pid` and its armed descendants, including those that start meanwhile. The
/// processes continue to run afterwards.
/// - It ends after `options.duration_s` (from the first process on), on SIGINT, SIGTERM or SIGHUP,
///   or when all processes have ended.
/// - The options `command`, `injection`, `platform`, `record` and `functions` are ignored.
/// - `say` gets messages about what is being waited for.
/// - Errors: kNotFound (no such process), kUnsupported (not armed, or in another container),
///   kPermission, kInvalidArgument (captured already).
Result<ProfileOutcome> runAttach(uint32_t pid, const ProfileOptions& options,
                                 const std::function<void(const std::string&)>& say);

}  // namespace tracesmith
