// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/studio_app.hpp"

#include <exception>
#include <new>
#include <utility>

#include "tracesmith/model/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/page/page_files.hpp"

namespace tracesmith::studio {
namespace {

constexpr uint64_t kMostHits = 10'000;

/// Nothing but the page's own files runs, and nothing leaves the machine.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

HttpResponse json(std::string body) { return {.body = std::move(body), .headers = {}}; }

HttpResponse error(int status, const std::string& text) {
  HttpResponse out = json(jsonAnswer(
      [&](JsonWriter& writer) { writer.beginObject().field("error", text).endObject(); }));
  out.status = status;
  return out;
}

}  // namespace

StudioApp::StudioApp(const StudioTrace& trace, Access access)
    : trace_(trace), access_(std::move(access)) {}

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
    Result<HttpResponse> out = api(request);
    if (out) return std::move(*out);
    return error(out.error().code == ErrorCode::kNotFound ? 404 : 400, out.error().toString());
  } catch (const std::bad_alloc&) {
    return error(507, "there is not enough memory for this answer");
  } catch (const std::exception& failure) {
    return error(500, failure.what());
  }
}

Result<HttpResponse> StudioApp::api(const HttpRequest& request) const {
  const QueryValues values(request.target);
  const std::string_view path = values.path();
  if (request.method == "POST") {
    if (path == "/api/tiles") {
      TS_TRY(const std::vector<TileKey> keys, tileKeysOf(request.body));
      return HttpResponse{
          .type = "application/octet-stream", .body = trace_.tiles().bytesOf(keys), .headers = {}};
    }
    if (path == "/api/names") {
      TS_TRY(const std::vector<uint32_t> ids, idsOf(request.body));
      return json(namesAnswer(trace_, ids));
    }
    if (path == "/api/query") {
      TS_TRY(const SqlRequest sql, sqlRequestOf(request.body));
      TS_TRY(std::string rows, sqlAnswer(trace_, sql));
      return json(std::move(rows));
    }
  } else {
    if (path == "/api/trace") return json(traceAnswer(trace_));
    if (path == "/api/parts") return json(partsAnswer());
    if (path == "/api/findings") {
      TS_CHECK_OK(haveOneClock(trace_.trace()));
      return json(tablesAnswer(trace_.findings()));
    }
    if (path == "/api/item") {
      TS_TRY(const uint64_t lane, values.needNumber("lane"));
      TS_TRY(const uint64_t item, values.needNumber("item"));
      TS_TRY(std::string body, itemAnswer(trace_, lane, item));
      return json(std::move(body));
    }
    if (path == "/api/search") {
      TS_TRY(const std::optional<uint64_t> limit, values.number("limit", kMostHits));
      return json(searchAnswer(trace_, values.text("q").value_or(""), limit.value_or(1000)));
    }
    if (path == "/api/analysis") {
      TS_TRY(std::string body, analysisAnswer(trace_, values));
      return json(std::move(body));
    }
    if (path == "/api/schema") {
      TS_TRY(std::string body, schemaAnswer(trace_));
      return json(std::move(body));
    }
  }
  return fail(ErrorCode::kNotFound, "there is no such address", std::string(path));
}

}  // namespace tracesmith::studio
