// SPDX-License-Identifier: Apache-2.0
// What the page may run in the background: commands that execute the recording of the trace.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/answers/request_values.hpp"
#include "tracesmith/studio/server/routes.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// Starts a run: {"what": "confirm", "all": false}, {"what": "determinism"}, or {"what": "replay",
/// "launch": 3, "buffers": [1, 2]}: up to a launch, with the content of memory before and after it.
/// Answers with its number, or with status 403 if other machines reach the server.
Result<HttpResponse> startRun(const Served& served, const StudioTrace& trace,
                              const std::string& body);
/// The state of a run, with its result once it has ended. Value: "id", or "what": the newest of
/// that name; number 0: there is none.
Result<std::string> runAnswer(const CommandJobs& jobs, const QueryValues& values);
/// Memory that a run of "replay" left. Values: "id", and those of memory_contents.hpp.
Result<std::string> contentAnswer(const CommandJobs& jobs, const QueryValues& values);
Result<HttpResponse> cellsAnswer(const CommandJobs& jobs, const QueryValues& values);
/// {"id": 1}
Result<std::string> cancelRun(CommandJobs& jobs, const std::string& body);

}  // namespace tracesmith::studio
