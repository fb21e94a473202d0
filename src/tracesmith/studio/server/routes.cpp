// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/routes.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/command_answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/answers/recording_answers.hpp"
#include "tracesmith/studio/server/job_routes.hpp"
#include "tracesmith/studio/studio_notes.hpp"

namespace tracesmith::studio {
namespace {

constexpr uint64_t kMostHits = 10'000;

struct Question {
  const Served& served;
  const StudioFiles& files;
  const StudioTrace& trace;
  const QueryValues& values;
  const std::string& body;
};

Result<HttpResponse> json(Result<std::string> body) {
  if (!body) return tl::unexpected(std::move(body.error()));
  return HttpResponse{.body = std::move(*body), .headers = {}};
}

std::string statusAnswer(const Question& of) {
  return jsonAnswer([&](JsonWriter& out) {
    const StudioTrace::Source& source = of.trace.source();
    out.beginObject().field("generation", source.generation).field("complete", source.complete);
    out.field("note", of.files.note()).endObject();
  });
}

Result<HttpResponse> tiles(const Question& of) {
  TS_TRY(const std::vector<TileKey> keys, tileKeysOf(of.body));
  return HttpResponse{
      .type = "application/octet-stream", .body = of.trace.tiles().bytesOf(keys), .headers = {}};
}

Result<HttpResponse> names(const Question& of) {
  TS_TRY(const std::vector<uint32_t> ids, idsOf(of.body));
  return json(namesAnswer(of.trace, ids));
}

Result<HttpResponse> query(const Question& of) {
  TS_TRY(const SqlRequest sql, sqlRequestOf(of.body));
  return json(sqlAnswer(of.trace, sql));
}

Result<HttpResponse> item(const Question& of) {
  TS_TRY(const uint64_t lane, of.values.needNumber("lane"));
  TS_TRY(const uint64_t item, of.values.needNumber("item"));
  return json(itemAnswer(of.trace, lane, item));
}

Result<HttpResponse> search(const Question& of) {
  TS_TRY(const std::optional<uint64_t> limit, of.values.number("limit", kMostHits));
  return json(searchAnswer(of.trace, of.values.text("q").value_or(""), limit.value_or(1000)));
}

Result<HttpResponse> whatIf(const Question& of) {
  TS_TRY(const WhatIfRequest request, whatIfRequestOf(of.body));
  return json(whatIfAnswer(of.trace, request));
}

Result<HttpResponse> compare(const Question& of) {
  if (of.files.before() == nullptr) {
    return fail(ErrorCode::kNotFound, "Studio was started with one trace", "");
  }
  return json(compareAnswer(*of.files.before(), *of.files.trace()));
}

Result<HttpResponse> kernel(const Question& of) {
  return json(kernelAnswer(of.trace, of.values.text("name").value_or("")));
}

Result<HttpResponse> notes(const Question& of) {
  TS_TRY(const std::vector<StudioNote> notes, readNotes(of.trace.source().path));
  return json(notesJson(notes));
}

Result<HttpResponse> keepNotes(const Question& of) {
  TS_TRY(const std::vector<StudioNote> notes, notesOf(of.body));
  TS_CHECK_OK(writeNotes(of.trace.source().path, notes));
  return json(std::string("{}"));
}

struct Route {
  std::string_view method, path;
  Result<HttpResponse> (*answer)(const Question&);
};

constexpr Route kRoutes[] = {
    {"GET", "/api/status", [](const Question& of) { return json(statusAnswer(of)); }},
    {"GET", "/api/trace",
     [](const Question& of) {
       const StudioFiles::Shared& before = of.files.before();
       return json(traceAnswer(of.trace, before == nullptr ? "" : before->source().path));
     }},
    {"POST", "/api/tiles", tiles},
    {"POST", "/api/names", names},
    {"GET", "/api/item", item},
    {"GET", "/api/search", search},
    {"GET", "/api/findings", [](const Question& of) { return json(findingsAnswer(of.trace)); }},
    {"GET", "/api/parts", [](const Question&) { return json(partsAnswer()); }},
    {"GET", "/api/analysis",
     [](const Question& of) { return json(analysisAnswer(of.trace, of.values)); }},
    {"GET", "/api/compare", compare},
    {"GET", "/api/kernel", kernel},
    {"GET", "/api/counters",
     [](const Question& of) { return json(countersAnswer(of.trace, of.values)); }},
    {"GET", "/api/notes", notes},
    {"POST", "/api/notes", keepNotes},
    {"GET", "/api/overlay",
     [](const Question& of) { return json(overlayAnswer(of.trace, of.values)); }},
    {"GET", "/api/memory", [](const Question& of) { return json(memoryAnswer(of.trace)); }},
    {"GET", "/api/stacks",
     [](const Question& of) { return json(stacksAnswer(of.trace, of.values)); }},
    {"POST", "/api/whatif", whatIf},
    {"GET", "/api/info",
     [](const Question& of) { return json(Result<std::string>(of.trace.source().info)); }},
    {"GET", "/api/recording", [](const Question& of) { return json(recordingAnswer(of.trace)); }},
    {"GET", "/api/program",
     [](const Question& of) { return json(programAnswer(of.trace, of.values)); }},
    {"GET", "/api/races",
     [](const Question& of) { return json(racesAnswer(of.trace, of.values)); }},
    {"GET", "/api/commands",
     [](const Question& of) { return json(commandsAnswer(of.trace, of.values)); }},
    {"GET", "/api/command",
     [](const Question& of) { return json(commandAnswer(of.trace, of.values)); }},
    {"GET", "/api/launch",
     [](const Question& of) { return json(launchPlaceAnswer(of.trace, of.values)); }},
    {"POST", "/api/run", [](const Question& of) { return startRun(of.served, of.trace, of.body); }},
    {"GET", "/api/job",
     [](const Question& of) { return json(runAnswer(of.served.jobs, of.values)); }},
    {"GET", "/api/content",
     [](const Question& of) { return json(contentAnswer(of.served.jobs, of.values)); }},
    {"GET", "/api/cells",
     [](const Question& of) { return cellsAnswer(of.served.jobs, of.values); }},
    {"POST", "/api/cancel",
     [](const Question& of) { return json(cancelRun(of.served.jobs, of.body)); }},
    {"GET", "/api/schema", [](const Question& of) { return json(schemaAnswer(of.trace)); }},
    {"POST", "/api/query", query},
};

}  // namespace

Result<HttpResponse> answerRequest(const Served& served, const HttpRequest& request) {
  const StudioFiles& files = served.files;
  const QueryValues values(request.target);
  const bool before = values.text("of") == "before" && files.before() != nullptr;
  const StudioFiles::Shared trace = before ? files.before() : files.trace();
  TS_TRY(const std::optional<uint64_t> generation, values.number("g"));
  if (!before && generation.value_or(trace->source().generation) != trace->source().generation) {
    return HttpResponse{
        .status = 409, .body = R"({"error":"the trace has been read again"})", .headers = {}};
  }
  for (const Route& route : kRoutes) {
    if (route.method == request.method && route.path == values.path()) {
      return route.answer({served, files, *trace, values, request.body});
    }
  }
  return fail(ErrorCode::kNotFound, "there is no such address", std::string(values.path()));
}

}  // namespace tracesmith::studio
