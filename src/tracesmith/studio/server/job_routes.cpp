// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/job_routes.hpp"

#include <simdjson.h>

#include <filesystem>
#include <utility>

#include "tracesmith/base/shell_words.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"

namespace tracesmith::studio {
namespace {

bool isJson(const std::string& text) {
  simdjson::dom::parser parser;
  return parser.parse(simdjson::padded_string(text)).error() == simdjson::SUCCESS;
}

std::string_view wordOf(JobState state) {
  switch (state) {
    case JobState::kRunning:
      return "running";
    case JobState::kFinished:
      return "finished";
    case JobState::kCancelled:
      break;
  }
  return "cancelled";
}

std::string commandLine(const std::vector<std::string>& arguments) {
  std::string out = "tracesmith";
  for (const std::string& argument : arguments) out += " " + shellWord(argument);
  return out;
}

struct Run {
  std::string what;
  std::vector<std::string> arguments;
};

/// `path` is absolute, so that no option can be made of it.
Result<Run> runOf(const std::string& body, const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  std::string_view what;
  if (parser.parse(simdjson::padded_string(body)).get(object) != simdjson::SUCCESS ||
      object["what"].get(what) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalidArgument, "the body is not what Studio's page sends", "what");
  }
  if (what == "confirm") {
    Run run{"races --confirm", {"races", path, "--confirm", "--json"}};
    bool all = false;
    if (object["all"].get(all) == simdjson::SUCCESS && all) run.arguments.emplace_back("--all");
    return run;
  }
  if (what == "determinism") return Run{"determinism", {"determinism", path, "--json"}};
  return fail(ErrorCode::kInvalidArgument, "is nothing that can be run", std::string(what));
}

}  // namespace

Result<HttpResponse> startRun(const Served& served, const StudioTrace& trace,
                              const std::string& body) {
  if (!served.is_local) {
    return HttpResponse{
        .status = 403,
        .body = R"({"error":"a server that other machines can reach executes no recording"})",
        .headers = {}};
  }
  TS_TRY(const StudioRecording* recording, trace.recording());
  (void)recording;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(trace.source().path, error);
  TS_TRY(Run run, runOf(body, path.string()));
  TS_TRY(const uint64_t id, served.jobs.start(run.what, std::move(run.arguments)));
  return HttpResponse{
      .body = jsonAnswer([&](JsonWriter& out) { out.beginObject().field("id", id).endObject(); }),
      .headers = {}};
}

Result<std::string> runAnswer(const CommandJobs& jobs, const QueryValues& values) {
  TS_TRY(const std::optional<uint64_t> id, values.number("id"));
  const std::optional<Job> job =
      id ? jobs.find(*id) : jobs.newest(values.text("what").value_or(""));
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject();
    if (!job) {
      out.field("id", 0).endObject();
      return;
    }
    out.field("id", job->id).field("what", job->what).field("state", wordOf(job->state));
    out.field("command", commandLine(job->arguments)).field("seconds", job->seconds);
    out.field("exit_code", job->exit_code).field("signal", job->signal);
    out.field("messages", job->messages).field("output_whole", job->output_whole);
    out.key("result");
    job->state == JobState::kFinished&& isJson(job->output) ? out.raw(job->output) : out.null();
    out.endObject();
  });
}

Result<std::string> cancelRun(CommandJobs& jobs, const std::string& body) {
  simdjson::dom::parser parser;
  uint64_t id = 0;
  if (parser.parse(simdjson::padded_string(body))["id"].get(id) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalidArgument, "the body is not what Studio's page sends", "id");
  }
  jobs.cancel(id);
  return std::string("{}");
}

}  // namespace tracesmith::studio
