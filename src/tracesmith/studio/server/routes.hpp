// SPDX-License-Identifier: Apache-2.0
// The addresses of Studio's server and what answers them. docs/studio.md lists them.
#pragma once

#include "tracesmith/studio/server/command_jobs.hpp"
#include "tracesmith/studio/server/http_server.hpp"
#include "tracesmith/studio/studio_files.hpp"

namespace tracesmith::studio {

struct Served {
  const StudioFiles& files;
  CommandJobs& jobs;
  /// Whether only this machine reaches the server. If not, nothing of a recording is executed:
  /// others may read the trace, no more.
  bool is_local = true;
};

/// Fails with kNotFound if there is no such address. The value "g" of a question is the generation
/// that it is about; if the trace has been replaced, the answer has status 409.
Result<HttpResponse> answerRequest(const Served& served, const HttpRequest& request);

}  // namespace tracesmith::studio
