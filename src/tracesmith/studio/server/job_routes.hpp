// SPDX-License-Identifier: Apache-2.0
// What the page may run in the background: commands that execute the recording of the trace.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/answers/request_values.hpp"
#include "tracesmith/studio/server/routes.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// Starts a run: {"what": "confirm", "all": false} or {"what": "determinism"}. Answers with its
/// number, or with status 403 if other machines reach the server.
Result<HttpResponse> startRun(const Served& served, const StudioTrace& trace,
                              const std::string& body);
/// The state of a run, with its result once it has ended. Value: "id", or "what": the newest of
/// that name; number 0: there is none.
Result<std::string> runAnswer(const CommandJobs& jobs, const QueryValues& values);
/// {"id": 1}
Result<std::string> cancelRun(CommandJobs& jobs, const std::string& body);

}  // namespace tracesmith::studio
