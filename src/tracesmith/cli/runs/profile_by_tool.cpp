// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/profile_by_tool.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "tracesmith/base/files/file_text.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/files/new_trace.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/runs/tool_folder.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/export/formats/export_format.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// One run of a tool.
struct Run {
  const ToolRecording& recording;
  const Words& program;
  const std::string& tool;    ///< path
  const std::string& folder;  ///< for its output
};

struct Tool {
  RecorderTool tool{};
  const char* name;     ///< name for people
  const char* missing;  ///< how to get it
  Words (*paths)();     ///< possible paths
  Words (*command)(const Run& run);
  /// The files to import, the most important first. Empty: the tool left nothing.
  Result<Words> (*results)(const Run& run);
  const char* kept_part;  ///< part of the folder to keep; "": all of it
  const char* kept_as;    ///< extension to keep it with
};

/// Files below `folder` whose names have this prefix and suffix, the largest first.
Words filesBelow(const std::string& folder, std::string_view begin, std::string_view end) {
  std::vector<std::pair<uintmax_t, std::string>> found;
  std::error_code ec;
  for (fs::recursive_directory_iterator it(folder, ec), none; !ec && it != none; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(end)) continue;
    std::error_code size_error;
    const uintmax_t size = it->file_size(size_error);
    if (!size_error && size > 0) found.emplace_back(size, it->path().string());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(b.first, a.second) < std::tie(a.first, b.second);
  });
  Words paths;
  for (auto& [size, path] : found) paths.push_back(std::move(path));
  return paths;
}

// --- Apple -------------------------------------------------------------------------------------

constexpr const char* kDefaultTemplate = "Metal System Trace";

/// Tables that become columns of their own, or that people ask for. The other tables of a system
/// trace are many times larger.
constexpr std::array<std::string_view, 10> kXctraceTables = {
    "metal-gpu-intervals",
    "metal-application-command-buffer-submissions",
    "metal-command-buffer-completed",
    "metal-application-encoders-list",
    "metal-shader-profiler-intervals",
    "metal-driver-intervals",
    "metal-gpu-state-intervals",
    "gpu-performance-state-intervals",
    "gpu-counter-info",
    "gpu-counter-value",
};

Words xctracePaths() {
  return {"xctrace", "/Applications/Xcode.app/Contents/Developer/usr/bin/xctrace"};
}

Words xctraceCommand(const Run& run) {
  const std::string& wanted = run.recording.xctrace_template;
  Words words = {run.tool,          "record",
                 "--template",      wanted.empty() ? kDefaultTemplate : wanted,
                 "--output",        run.folder + "/recording.trace",
                 "--target-stdout", "-",
                 "--launch",        "--"};
  if (run.recording.xctrace_limit_ns > 0) {
    const int64_t ms = std::max<int64_t>(1, run.recording.xctrace_limit_ns / 1'000'000);
    words.insert(words.end() - 2, {"--time-limit", fmt::format("{}ms", ms)});
  }
  words.insert(words.end(), run.program.begin(), run.program.end());
  // xctrace starts the program by its path.
  const std::string path = findExecutable({run.program[0]});
  if (!path.empty()) words[words.size() - run.program.size()] = path;
  return words;
}

void append(std::ofstream& to, const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  std::string head(5, '\0');
  from.read(head.data(), static_cast<std::streamsize>(head.size()));
  // Each export starts with an XML declaration, which is allowed only once, at the start of the
  // file.
  if (from && head == "<?xml") {
    from.ignore(1 << 16, '>');
  } else {
    from.clear();
    from.seekg(0);
  }
  to << from.rdbuf() << '\n';
  to.clear();  // an empty file sets the fail bit
}

/// Exports the available tables one by one into one file.
Result<Words> xctraceResults(const Run& run) {
  const std::string trace = run.folder + "/recording.trace";
  std::error_code ec;
  if (!fs::exists(trace, ec)) return Words{};
  const std::string log = run.folder + "/export.log";
  const std::string contents = run.folder + "/contents.xml";
  TS_CHECK_OK(
      runSilently({run.tool, "export", "--input", trace, "--toc", "--output", contents}, log));
  const std::string toc = readFileText(contents).value_or("");
  const std::string all = run.folder + "/tables.xml";
  std::ofstream out(all, std::ios::binary);
  out << "<exports>\n";
  append(out, contents);
  for (const std::string_view table : kXctraceTables) {
    if (toc.find(fmt::format("schema=\"{}\"", table)) == std::string::npos) continue;
    const std::string part = fmt::format("{}/{}.xml", run.folder, table);
    const Status exported =
        runSilently({run.tool, "export", "--input", trace, "--xpath",
                     fmt::format("/trace-toc/run[@number=\"1\"]/data/table[@schema=\"{}\"]", table),
                     "--output", part},
                    log);
    if (exported) {
      append(out, part);
    } else {
      sayWarning(fmt::format("table {}: {}", table, exported.error().toString()));
    }
    fs::remove(part, ec);
  }
  out << "</exports>\n";
  out.close();
  if (!out) return fail(ErrorCode::kIo, "cannot be written", all);
  return Words{all};
}

// --- MetaX -------------------------------------------------------------------------------------

Words mcTracerPaths() {
  Words paths = {"mcTracer"};
  if (const char* maca = ::getenv("MACA_PATH"))
    paths.push_back(std::string(maca) + "/bin/mcTracer");
  paths.emplace_back("/opt/maca/bin/mcTracer");
  return paths;
}

Words mcTracerCommand(const Run& run) {
  // The tool takes the name as relative to the working directory, whatever it starts with.
  std::error_code ec;
  const fs::path folder = fs::relative(run.folder, fs::current_path(ec), ec);
  Words words = {run.tool, "--mctx", "--odname", folder.empty() ? run.folder : folder.string()};
  words.insert(words.end(), run.program.begin(), run.program.end());
  return words;
}

Result<Words> mcTracerResults(const Run& run) {
  return filesBelow(run.folder, "tracer_out", ".json");
}

// --- Ascend ------------------------------------------------------------------------------------

Words msprofPaths() {
  Words paths = {"msprof"};
  if (const char* home = ::getenv("ASCEND_TOOLKIT_HOME")) {
    paths.push_back(std::string(home) + "/tools/profiler/bin/msprof");
  }
  paths.emplace_back("/usr/local/Ascend/ascend-toolkit/latest/tools/profiler/bin/msprof");
  return paths;
}

std::string quotedForShell(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// msprof splits the text of --application at spaces, so words with other special characters are
/// passed through a script.
Words msprofCommand(const Run& run) {
  const bool plain =
      std::all_of(run.program.begin(), run.program.end(), [](const std::string& word) {
        return !word.empty() &&
               word.find_first_of(" \t\n\"'\\$`;&|<>()*?[]{}~#!") == std::string::npos;
      });
  std::string application;
  if (plain) {
    for (const std::string& word : run.program) {
      application += (application.empty() ? "" : " ") + word;
    }
  } else {
    application = run.folder + "/program.sh";
    std::ofstream script(application);
    script << "#!/bin/sh\nexec";
    for (const std::string& word : run.program) script << ' ' << quotedForShell(word);
    script << '\n';
    script.close();
    ::chmod(application.c_str(), 0700);
  }
  return {run.tool, "--output=" + run.folder, "--application=" + application};
}

Result<Words> msprofResults(const Run& run) {
  Words found = filesBelow(run.folder, "msprof", ".json");
  if (!found.empty()) return found;
  // Some versions do not export on their own.
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(run.folder, ec)) {
    if (!entry.path().filename().string().starts_with("PROF_")) continue;
    TS_CHECK_OK(runSilently({run.tool, "--export=on", "--output=" + entry.path().string()},
                            run.folder + "/export.log"));
  }
  return filesBelow(run.folder, "msprof", ".json");
}

constexpr std::array<Tool, 3> kTools = {{
    {RecorderTool::kXctrace, "xctrace",
     "it is part of Xcode, for macOS (https://developer.apple.com/xcode); the command line tools "
     "alone do not have it",
     xctracePaths, xctraceCommand, xctraceResults, "recording.trace", ".trace"},
    {RecorderTool::kMcTracer, "mcTracer",
     "it is part of MetaX's MACA SDK (/opt/maca/bin; https://developer.metax-tech.com); put it on "
     "PATH or set MACA_PATH",
     mcTracerPaths, mcTracerCommand, mcTracerResults, "", ".mctracer"},
    {RecorderTool::kMsprof, "msprof",
     "it is part of Ascend's CANN toolkit (https://www.hiascend.com/software/cann); source its "
     "set_env.sh",
     msprofPaths, msprofCommand, msprofResults, "", ".msprof"},
}};

// --- The run -----------------------------------------------------------------------------------

/// The trace for result `index`; all but the first get numbered names beside it.
std::string traceOf(const std::string& trace, size_t index) {
  return index == 0 ? trace : withExtension(trace, fmt::format("-{}.sbt", index + 1));
}

/// The path of the created trace; "" if `source` could not be imported.
std::string importResult(const std::string& source, const std::string& output, const Tool& tool,
                         const ToolRecording& recording) {
  const Result<ImportedTrace> made = importToOutput(source, output, recording.force);
  if (!made) {
    Error error = made.error();
    error.message =
        fmt::format("the output of {} cannot be imported: {}", tool.name, error.message);
    sayError(error);
    return {};
  }
  const import::ImportReport* const report = &made->report;
  const std::string& trace = made->path;
  reportImportLosses(source, report->counts);
  if (!recording.quiet) {
    say(fmt::format("{} of {} events of {}: {} ({}). Next: tracesmith view {} --stats",
                    formatCount(report->counts.rows), formatCount(report->counts.events), tool.name,
                    trace, formatBytes(report->output_bytes), trace));
    if (!report->experimental.empty()) {
      say(fmt::format("reading {} is experimental: {}", report->format, report->experimental));
    }
  }
  return trace;
}

}  // namespace

int runToolRecording(const ToolRecording& recording, const Session& session) {
  const Tool& tool = *std::find_if(kTools.begin(), kTools.end(),
                                   [&](const Tool& t) { return t.tool == recording.tool; });
  const std::string path = findExecutable(tool.paths());
  if (path.empty()) {
    sayError({ErrorCode::kNotFound, fmt::format("was not found: {}", tool.missing), tool.name});
    return kExitNotStarted;
  }
  RecordingOutputs outputs = recording.outputs;
  const std::string& trace = outputs.trace;
  for (const auto& paths : {Words{trace}, outputs.exports}) {
    if (const Status ok = checkOutputs(paths); !ok) {
      sayError(ok.error());
      return kExitNotStarted;
    }
  }
  Result<ToolFolder> folder = ToolFolder::beside(trace);
  if (!folder) {
    sayError(folder.error());
    return kExitNotStarted;
  }
  const Run run = {recording, session.program, path, folder->path()};
  const Result<ExitStatus> ended = runToTheEnd(tool.command(run));
  if (!ended) {
    sayError(ended.error());
    return kExitNotStarted;
  }
  const int code = ended->exit_code;
  const Result<Words> results = tool.results(run);
  bool failed = !results || results->empty();
  if (!results) {
    sayError(results.error());
  } else if (results->empty()) {
    sayError({ErrorCode::kNotFound,
              fmt::format("has left nothing that can be imported (its exit code is {})", code),
              tool.name});
  } else {
    for (size_t i = 0; i < results->size(); ++i) {
      const std::string made = importResult((*results)[i], traceOf(trace, i), tool, recording);
      failed |= made.empty();
      if (i == 0) takeTraceName(made, outputs);
    }
  }
  std::error_code ec;
  const bool anything = !fs::is_empty(folder->path(), ec);
  if ((recording.keep || failed) && anything) {
    const bool has_part =
        *tool.kept_part != '\0' && fs::exists(fs::path(folder->path()) / tool.kept_part, ec);
    const Result<std::string> kept =
        folder->keepAs(has_part ? tool.kept_part : "", withExtension(trace, tool.kept_as));
    if (!kept) {
      sayError(kept.error());
    } else {
      say(fmt::format("{}: the output of {}", *kept, tool.name));
    }
  }
  if (failed) return code != 0 ? code : static_cast<int>(kExitNotStarted);
  writeExports(outputs, recording.force, recording.quiet);
  return code;
}

}  // namespace tracesmith::cli
