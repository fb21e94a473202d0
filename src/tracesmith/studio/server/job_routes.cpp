// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/server/job_routes.hpp"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tracesmith/base/shell_words.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/answers/memory_contents.hpp"

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

constexpr uint64_t kMostMemory = 1 << 30;
constexpr size_t kMostBuffers = 64;
constexpr const char* kMemoryFile = "/memory.raw";

struct Run {
  std::string what;
  CommandJobs::Arguments arguments;
};

tl::unexpected<Error> isNoRun(const char* where) {
  return fail(ErrorCode::kInvalidArgument, "the body is not what Studio's page sends", where);
}

/// Bytes of the memory with this number; 0: there is none.
uint64_t bytesOfMemory(const ReplayPlan& plan, uint64_t number) {
  for (ObjectIndex i = 1; i < plan.objects().size(); ++i) {
    const PlannedObject& object = plan.object(i);
    if (object.object_class == recording::ObjectClass::kMemory && object.ordinal == number) {
      return plan.contentBytes(i);
    }
  }
  return 0;
}

Result<Run> replayOf(simdjson::dom::object object, const std::string& path,
                     const ReplayPlan& plan) {
  uint64_t launch = 0;
  simdjson::dom::array buffers;
  if (object["launch"].get(launch) != simdjson::SUCCESS || launch == 0 ||
      launch > plan.launches() || object["buffers"].get(buffers) != simdjson::SUCCESS ||
      buffers.size() > kMostBuffers) {
    return isNoRun("launch, buffers");
  }
  const std::string number = std::to_string(launch);
  std::vector<std::string> arguments = {"replay",  path,   "--order", "serial",
                                        "--until", number, "--json"};
  uint64_t bytes = 0;
  for (const simdjson::dom::element element : buffers) {
    uint64_t buffer = 0;
    if (element.get(buffer) != simdjson::SUCCESS) return isNoRun("buffers");
    const uint64_t size = bytesOfMemory(plan, buffer);
    if (size == 0)
      return fail(ErrorCode::kNotFound, "there is no such memory", std::to_string(buffer));
    bytes += std::min(2 * std::min(size, kMostMemory), kMostMemory + 1);
    for (const char* when : {"@before:", "@"}) {
      arguments.emplace_back("--dump");
      arguments.push_back(std::to_string(buffer) + when + number);
    }
  }
  if (bytes > kMostMemory) {
    return fail(ErrorCode::kNoSpace, "that is more than 1 GiB of memory; choose fewer buffers",
                "before and after the launch");
  }
  const bool shows = buffers.size() > 0;
  return Run{"replay", [arguments = std::move(arguments), shows](const std::string& folder) {
               std::vector<std::string> out = arguments;
               if (!shows) return out;
               for (const char* text : {"--dump-as", "raw", "-o"}) out.emplace_back(text);
               out.push_back(folder + kMemoryFile);
               return out;
             }};
}

/// `path` is absolute, so that no option can be made of it.
Result<Run> runOf(const std::string& body, const std::string& path, const ReplayPlan& plan) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  std::string_view what;
  if (parser.parse(simdjson::padded_string(body)).get(object) != simdjson::SUCCESS ||
      object["what"].get(what) != simdjson::SUCCESS) {
    return isNoRun("what");
  }
  if (what == "replay") return replayOf(object, path, plan);
  std::vector<std::string> arguments;
  std::string name;
  if (what == "confirm") {
    name = "races --confirm";
    arguments = {"races", path, "--confirm", "--json"};
    bool all = false;
    if (object["all"].get(all) == simdjson::SUCCESS && all) arguments.emplace_back("--all");
  } else if (what == "determinism") {
    name = what;
    arguments = {"determinism", path, "--json"};
  } else {
    return fail(ErrorCode::kInvalidArgument, "is nothing that can be run", std::string(what));
  }
  return Run{name, [arguments = std::move(arguments)](const std::string&) { return arguments; }};
}

/// A run that left memory. Its files stay as long as the job is held.
Result<Job> finishedReplay(const CommandJobs& jobs, const QueryValues& values) {
  TS_TRY(const uint64_t id, values.needNumber("id"));
  std::optional<Job> job = jobs.find(id);
  if (!job || job->state != JobState::kFinished || !isJson(job->output)) {
    return fail(ErrorCode::kNotFound, "there is no such run with a result", std::to_string(id));
  }
  return std::move(*job);
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
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(trace.source().path, error);
  TS_TRY(const Run run, runOf(body, path.string(), recording->plan()));
  TS_TRY(const uint64_t id, served.jobs.start(run.what, run.arguments));
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

Result<std::string> contentAnswer(const CommandJobs& jobs, const QueryValues& values) {
  TS_TRY(const Job job, finishedReplay(jobs, values));
  TS_TRY(const MemoryContents contents,
         MemoryContents::open(job.output, job.folder->path() + kMemoryFile));
  return contents.valuesAnswer(values);
}

Result<HttpResponse> cellsAnswer(const CommandJobs& jobs, const QueryValues& values) {
  TS_TRY(const Job job, finishedReplay(jobs, values));
  TS_TRY(const MemoryContents contents,
         MemoryContents::open(job.output, job.folder->path() + kMemoryFile));
  TS_TRY(std::string cells, contents.cells(values));
  return HttpResponse{.type = "application/octet-stream", .body = std::move(cells), .headers = {}};
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
