// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/routes.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "tracesmith/base/cancellation.hpp"
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
  const std::function<bool()>& gone;
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
  return json(sqlAnswer(of.trace, sql, of.gone));
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
  const CancelScope scope(of.gone ? of.gone : [] { return false; });
  return json(whatIfAnswer(of.trace, request));
}

Result<HttpResponse> compare(const Question& of) {
  if (of.files.before() == nullptr) {
    return fail(ErrorCode::kNotFound, "Studio was started with one trace", "");
  }
  TS_CHECK_OK(of.files.before()->readRest());
  return json(compareAnswer(*of.files.before(), of.trace));
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

/// What of the trace an answer needs: nothing or the columns of the timeline, or all of it.
enum class Needs { kTimeline, kAll };

struct Route {
  std::string_view method, path;
  Needs needs;
  Result<HttpResponse> (*answer)(const Question&);
};

constexpr Route kRoutes[] = {
    {"GET", "/api/status", Needs::kTimeline,
     [](const Question& of) { return json(statusAnswer(of)); }},
    {"GET", "/api/trace", Needs::kTimeline,
     [](const Question& of) {
       const StudioFiles::Shared& before = of.files.before();
       return json(traceAnswer(of.trace, before == nullptr ? "" : before->source().path));
     }},
    {"POST", "/api/tiles", Needs::kTimeline, tiles},
    {"POST", "/api/names", Needs::kTimeline, names},
    {"GET", "/api/item", Needs::kAll, item},
    {"GET", "/api/search", Needs::kTimeline, search},
    {"GET", "/api/findings", Needs::kAll,
     [](const Question& of) { return json(findingsAnswer(of.trace)); }},
    {"GET", "/api/parts", Needs::kTimeline, [](const Question&) { return json(partsAnswer()); }},
    {"GET", "/api/analysis", Needs::kAll,
     [](const Question& of) { return json(analysisAnswer(of.trace, of.values)); }},
    {"GET", "/api/compare", Needs::kAll, compare},
    {"GET", "/api/kernel", Needs::kAll, kernel},
    {"GET", "/api/counters", Needs::kTimeline,
     [](const Question& of) { return json(countersAnswer(of.trace, of.values)); }},
    {"GET", "/api/notes", Needs::kTimeline, notes},
    {"POST", "/api/notes", Needs::kTimeline, keepNotes},
    {"GET", "/api/overlay", Needs::kAll,
     [](const Question& of) { return json(overlayAnswer(of.trace, of.values)); }},
    {"GET", "/api/memory", Needs::kAll,
     [](const Question& of) { return json(memoryAnswer(of.trace)); }},
    {"GET", "/api/stacks", Needs::kAll,
     [](const Question& of) { return json(stacksAnswer(of.trace, of.values)); }},
    {"GET", "/api/stack_lanes", Needs::kAll,
     [](const Question& of) { return json(stackLanesAnswer(of.trace, of.values)); }},
    {"POST", "/api/whatif", Needs::kAll, whatIf},
    {"GET", "/api/info", Needs::kTimeline,
     [](const Question& of) { return json(Result<std::string>(of.trace.source().info)); }},
    {"GET", "/api/recording", Needs::kAll,
     [](const Question& of) { return json(recordingAnswer(of.trace)); }},
    {"GET", "/api/program", Needs::kAll,
     [](const Question& of) { return json(programAnswer(of.trace, of.values)); }},
    {"GET", "/api/races", Needs::kAll,
     [](const Question& of) { return json(racesAnswer(of.trace, of.values)); }},
    {"GET", "/api/commands", Needs::kAll,
     [](const Question& of) { return json(commandsAnswer(of.trace, of.values)); }},
    {"GET", "/api/command", Needs::kAll,
     [](const Question& of) { return json(commandAnswer(of.trace, of.values)); }},
    {"GET", "/api/launch", Needs::kAll,
     [](const Question& of) { return json(launchPlaceAnswer(of.trace, of.values)); }},
    {"POST", "/api/run", Needs::kAll,
     [](const Question& of) { return startRun(of.served, of.trace, of.body); }},
    {"GET", "/api/job", Needs::kTimeline,
     [](const Question& of) { return json(runAnswer(of.served.jobs, of.values)); }},
    {"GET", "/api/content", Needs::kTimeline,
     [](const Question& of) { return json(contentAnswer(of.served.jobs, of.values)); }},
    {"GET", "/api/cells", Needs::kTimeline,
     [](const Question& of) { return cellsAnswer(of.served.jobs, of.values); }},
    {"POST", "/api/cancel", Needs::kTimeline,
     [](const Question& of) { return json(cancelRun(of.served.jobs, of.body)); }},
    {"GET", "/api/schema", Needs::kAll,
     [](const Question& of) { return json(schemaAnswer(of.trace)); }},
    {"POST", "/api/query", Needs::kAll, query},
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
      if (route.needs == Needs::kAll) TS_CHECK_OK(trace->readRest());
      return route.answer({served, files, *trace, values, request.body, request.gone});
    }
  }
  return fail(ErrorCode::kNotFound, "there is no such address", std::string(values.path()));
}

}  // namespace tracesmith::studio
