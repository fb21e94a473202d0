// SPDX-License-Identifier: Apache-2.0
// Answers the requests of Studio's page for one trace.
#pragma once

#include <string>

#include "tracesmith/studio/server/access.hpp"
#include "tracesmith/studio/server/http_server.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

class StudioApp {
 public:
  /// `trace` must outlive the object.
  StudioApp(const StudioTrace& trace, Access access);

  const Access& access() const { return access_; }
  /// Any number of threads may call this.
  HttpResponse respond(const HttpRequest& request) const;

 private:
  HttpResponse answer(const HttpRequest& request) const;
  Result<HttpResponse> api(const HttpRequest& request) const;

  const StudioTrace& trace_;
  Access access_;
};

}  // namespace tracesmith::studio
