// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/nsys_recording.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "tracesmith/base/files/free_name.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/cli/files/new_trace.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/formats/export_format.hpp"
#include "tracesmith/import/common/tool_run.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/nsys/nsys_report.hpp"

namespace tracesmith::cli {
namespace {

constexpr auto kCheckEvery = std::chrono::milliseconds(10);

std::string folderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Runs `command` to its end; stop signals are passed to it, as in any recording.
Result<ExitStatus> runToItsEnd(const std::vector<std::string>& command) {
  SignalRelay relay;
  TS_TRY(Launcher program, Launcher::start(command, {}));
  relay.follow(program);
  for (;;) {
    if (const std::optional<ExitStatus> status = program.poll()) return *status;
    std::this_thread::sleep_for(kCheckEvery);
  }
}

/// The report that nsys left in `folder`; "" if there is none.
std::string reportIn(const std::string& folder) {
  for (const char* name : {"report.nsys-rep", "report.qdrep"}) {
    std::string path = folder + "/" + name;
    std::error_code ec;
    if (std::filesystem::exists(path, ec)) return path;
  }
  return {};
}

/// Moves the report beside the trace and prints its path. Does not replace an older report.
void keepReport(const std::string& report, const std::string& trace) {
  const std::string wanted =
      withExtension(trace, std::filesystem::path(report).extension().string());
  if (const auto kept = moveToNumberedName(report, wanted)) {
    say(fmt::format("{}: the report of Nsight Systems", *kept));
  } else {
    sayWarning("the report cannot be kept: " + kept.error().toString());
  }
}

/// Returns false if there is no trace.
bool importReport(const std::string& report, NsysRecording& recording) {
  const Result<ImportedTrace> made =
      importToOutput(report, recording.outputs.trace, recording.force);
  if (!made) {
    Error error = made.error();
    error.message = "the report cannot be imported: " + error.message;
    sayError(error);
    return false;
  }
  takeTraceName(made->path, recording.outputs);
  const std::string& trace = recording.outputs.trace;
  const import::ImportReport* const imported = &made->report;
  reportImportLosses(trace, imported->counts);
  if (!recording.quiet) {
    say(fmt::format("{} of {} rows of Nsight Systems: {} ({}). Next: tracesmith view {} --stats",
                    formatCount(imported->counts.rows), formatCount(imported->counts.events), trace,
                    formatBytes(imported->output_bytes), trace));
  }
  writeExports(recording.outputs, recording.force, recording.quiet);
  return true;
}

}  // namespace

Result<std::vector<std::string>> shellWords(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool within = false;  // inside a word, which may be empty ('')
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool more = i + 1 < text.size();
    const bool escapes = c == '\\' && quote != '\'' && more &&
                         (quote == 0 || text[i + 1] == '"' || text[i + 1] == '\\');
    if (escapes) {
      word += text[++i];
      within = true;
    } else if (quote == 0 ? c == '\'' || c == '"' : c == quote) {
      quote = quote == 0 ? c : 0;
      within = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (within) words.push_back(std::exchange(word, {}));
      within = false;
    } else {
      word += c;
      within = true;
    }
  }
  if (quote != 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the quote {} is not closed", quote),
                "--nsys-args");
  }
  if (within) words.push_back(word);
  return words;
}

namespace {

/// Returns how this process must end after cleaning up: exit code, and the signal that ended the
/// program.
ExitStatus record(NsysRecording recording, const Session& session) {
  const auto notStarted = [](const Error& error) {
    sayError(error);
    return ExitStatus{kExitNotStarted, 0};
  };
  const Result<std::vector<std::string>> more = shellWords(recording.arguments);
  if (!more) return notStarted(more.error());
  for (const std::string& word : *more) {
    if (word == "-o" || word.starts_with("--output")) {
      return notStarted({ErrorCode::kInvalidArgument,
                         "TraceSmith chooses the report's path; use -o for the trace, and "
                         "--keep-nsys to keep the report beside it",
                         "--nsys-args"});
    }
  }
  if (const Status ok = checkOutputs({recording.outputs.trace}); !ok) return notStarted(ok.error());
  if (const Status ok = checkOutputs(recording.outputs.exports); !ok) return notStarted(ok.error());
  const Result<std::string> tool = import::findNsys();
  if (!tool) return notStarted(tool.error());
  // Beside the trace: there is room for it there, and it can be kept by renaming.
  const Result<import::WorkFolder> folder =
      import::WorkFolder::create(folderOf(recording.outputs.trace));
  if (!folder) return notStarted(folder.error());

  std::vector<std::string> command = {*tool, "profile", "-o", folder->path() + "/report"};
  command.insert(command.end(), more->begin(), more->end());
  command.insert(command.end(), session.program.begin(), session.program.end());
  const Result<ExitStatus> ended = runToItsEnd(command);
  if (!ended) return notStarted(ended.error());
  signal(SIGPIPE, SIG_IGN);  // a closed standard error must not hide the exit code

  const std::string report = reportIn(folder->path());
  if (report.empty()) {
    sayError({ErrorCode::kIo,
              fmt::format("has left no report, so there is no trace; its exit code is {}",
                          ended->exit_code),
              *tool});
    return ended->exit_code != 0 ? *ended : ExitStatus{kExitNotStarted, 0};
  }
  const bool imported = importReport(report, recording);
  if (recording.keep || !imported) keepReport(report, recording.outputs.trace);
  return *ended;
}

}  // namespace

int runNsysRecording(const NsysRecording& recording, const Session& session) {
  const ExitStatus ended = record(recording, session);
  return ended.signal != 0 ? endBySignal(ended.signal) : ended.exit_code;
}

}  // namespace tracesmith::cli
