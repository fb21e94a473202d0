// SPDX-License-Identifier: Apache-2.0
// Answers the requests of Studio's page for the traces of a server.
#pragma once

#include <string>

#include "tracesmith/studio/server/access.hpp"
#include "tracesmith/studio/server/command_jobs.hpp"
#include "tracesmith/studio/server/http_server.hpp"
#include "tracesmith/studio/studio_files.hpp"

namespace tracesmith::studio {

class StudioApp {
 public:
  /// `files` must outlive the object.
  StudioApp(const StudioFiles& files, Access access);

  const Access& access() const { return access_; }
  /// Any number of threads may call this.
  HttpResponse respond(const HttpRequest& request) const;

 private:
  HttpResponse answer(const HttpRequest& request) const;

  const StudioFiles& files_;
  Access access_;
  mutable CommandJobs jobs_;
};

}  // namespace tracesmith::studio
