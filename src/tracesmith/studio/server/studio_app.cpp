// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/studio_app.hpp"

#include <exception>
#include <new>
#include <utility>

#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/page/page_files.hpp"
#include "tracesmith/studio/server/routes.hpp"

namespace tracesmith::studio {
namespace {

/// Nothing but the page's own files runs, and nothing leaves the machine.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

HttpResponse error(int status, const std::string& text) {
  return {.status = status,
          .body = jsonAnswer(
              [&](JsonWriter& writer) { writer.beginObject().field("error", text).endObject(); }),
          .headers = {}};
}

}  // namespace

StudioApp::StudioApp(const StudioFiles& files, Access access)
    : files_(files), access_(std::move(access)) {}

HttpResponse StudioApp::respond(const HttpRequest& request) const {
  std::optional<HttpResponse> refused = access_.respond(request);
  HttpResponse out = refused ? std::move(*refused) : answer(request);
  out.headers.emplace_back("Content-Security-Policy", kContentPolicy);
  out.headers.emplace_back("X-Content-Type-Options", "nosniff");
  out.headers.emplace_back("Referrer-Policy", "no-referrer");
  out.headers.emplace_back("Cache-Control", "no-store");
  return out;
}

HttpResponse StudioApp::answer(const HttpRequest& request) const {
  for (const PageFile& file : pageFiles()) {
    if (request.target != file.path) continue;
    return {.type = std::string(file.type),
            .body = std::string(file.gzip),
            .headers = {{"Content-Encoding", "gzip"}}};
  }
  if (request.target == "/") {
    return {.status = 503,
            .type = "text/plain; charset=utf-8",
            .body = "This build has no page. Run script/studio, then build again.\n",
            .headers = {}};
  }
  try {
    Result<HttpResponse> out = answerRequest({files_, jobs_, access_.isLocal()}, request);
    if (out) return std::move(*out);
    const ErrorCode code = out.error().code;
    return error(code == ErrorCode::kNotFound ? 404 : 400, out.error().toString());
  } catch (const std::bad_alloc&) {
    return error(507, "there is not enough memory for this answer");
  } catch (const std::exception& failure) {
    return error(500, failure.what());
  }
}

}  // namespace tracesmith::studio
