// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/live_trace.hpp"
#include "tracesmith/cli/files/studio_source.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/exit_code.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/query/sql/query_engine.hpp"
#include "tracesmith/studio/answers/static_site.hpp"
#include "tracesmith/studio/server/studio_app.hpp"

namespace tracesmith::cli {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr uint64_t kMostQueryMemory = uint64_t{1} << 30;
constexpr uint64_t kMostReadAhead = uint64_t{1} << 30;

sigset_t endSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  return signals;
}

/// Opens the address in the user's browser; says nothing if there is none. Without a display,
/// xdg-open might start a browser in the terminal.
void openBrowser(const std::string& url) {
  if (getenv("DISPLAY") == nullptr && getenv("WAYLAND_DISPLAY") == nullptr) return;
  const char* const arguments[] = {"xdg-open", url.c_str(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t pid = 0;
  if (posix_spawnp(&pid, arguments[0], &files, nullptr, const_cast<char**>(arguments), environ) ==
      0) {
    std::thread([pid] { waitpid(pid, nullptr, 0); }).detach();
  }
  posix_spawn_file_actions_destroy(&files);
}

Result<std::shared_ptr<const studio::StudioTrace>> readForStudio(const std::string& path,
                                                                 uint64_t generation, int& code) {
  const BusyLine busy("reading " + path);
  TS_TRY(TraceReader opened, openTraceFile(livePath(path)));
  const auto sourceOf = [&](const Trace& trace, const TraceReader& reader) {
    bool complete = reader.complete() && reader.losses().empty();
    if (generation == 1) {
      code = reportLosses(reader, path, 0);
      complete = code == 0;
    }
    return studioSource(trace, reader, path, complete, generation);
  };
  if (opened.rows(TableId::kRank) > 0) {  // aligned ranks have other times than their file
    auto trace = opened.read();
    if (!trace) return tl::unexpected<Error>(explainError(trace.error(), path));
    TraceFile file{path, std::move(opened), std::move(*trace)};
    TS_CHECK_OK(chooseOrAlignRanks(file, std::nullopt));
    studio::StudioTrace::Source source = sourceOf(file.trace, file.reader);
    return std::make_shared<studio::StudioTrace>(std::move(source), std::move(file.trace));
  }
  auto tables = TraceTables::open(std::move(opened));
  if (!tables) return tl::unexpected<Error>(explainError(tables.error(), path));
  if (const Status read = studio::readTimeline(*tables); !read) {
    return tl::unexpected<Error>(explainError(read.error(), path));
  }
  studio::StudioTrace::Source source = sourceOf(tables->loaded()->trace, tables->reader());
  return std::make_shared<studio::StudioTrace>(std::move(source), std::move(*tables));
}

/// What the page asks most often first: the tiles. Then the rest of the trace, unless that takes
/// much memory: then it is read when a question needs it.
void readAhead(const studio::StudioTrace& trace) {
  trace.tiles().makeAll();
  if (trace.unreadBytes() <= kMostReadAhead) (void)trace.readRest();
}

/// Reads the trace again whenever its file has changed, so that a trace is shown while it is
/// written. Takes at most a quarter of the time of one processor.
void followFile(const std::string& path, FileState shown, studio::StudioFiles& files,
                const std::stop_token& stop) {
  using std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(300);
  auto next = steady_clock::now();
  for (uint64_t generation = 2; !stop.stop_requested();) {
    std::this_thread::sleep_for(kPause);
    if (steady_clock::now() < next) continue;
    const std::optional<FileState> now = FileState::of(livePath(path));
    if (!now) {
      files.keep(path + " is gone; this is what was read before");
      continue;
    }
    if (*now == shown) continue;
    const auto start = steady_clock::now();
    int code = 0;
    auto trace = readForStudio(path, generation, code);
    if (trace) {
      files.replace(std::move(*trace));
      ++generation;
    } else {
      files.keep(trace.error().toString() + "; this is what was read before");
    }
    shown = *now;
    next = steady_clock::now() + 3 * (steady_clock::now() - start);
  }
}

class StudioCommand : public Command {
 public:
  StudioCommand() : Command("studio", "Show a trace in the browser") {
    text("FILE", input_, "FILE",
         "Trace (.sbt), a recording beside one (.sbr), or another tool's trace", Complete::kFile)
        .required();
    text("FILE2", second_, "FILE2", "Another trace: FILE is before a change, FILE2 after it",
         Complete::kFile);
    const Option port = count("--port", port_, "N", "Port of the server (default: any free one)");
    text("--bind", address_, "ADDRESS",
         "IP address of the server (default: 127.0.0.1, which only this machine reaches)");
    flag("--yes-expose", exposes_,
         "Needed for other addresses: whoever knows the printed address can read the whole trace, "
         "and it is sent unencrypted");
    text("--static", folder_, "FOLDER",
         "Write the page and the trace as plain files for any web server, instead of serving them",
         Complete::kFile)
        .excludes(port);
    flag("--no-browser", no_browser_, "Only print the address; open no browser");
    describe(
        "Starts a server on this machine, prints its address and opens it in a browser. Ctrl-C "
        "ends it. The address has a token, without which nobody gets the trace. Nothing of the "
        "trace leaves the machine. See docs/studio.md.");
    example("tracesmith studio out.sbt", "Open a trace in the browser");
    example("tracesmith studio before.sbt after.sbt", "Show after.sbt, and compare");
    example("tracesmith studio trace.json.gz --no-browser --port 8080",
            "Print the address; for `ssh -L 8080:127.0.0.1:8080`");
  }

  int run(Session&) override {
    const std::string address = address_.empty() ? kLoopback : address_;
    if (address != kLoopback && address != "::1" && !exposes_) {
      return failWith({ErrorCode::kInvalidArgument,
                       "other machines can reach this address, and with the printed address they "
                       "can read the whole trace, unencrypted; add --yes-expose if they may",
                       "--bind " + address});
    }
    if (port_.value_or(0) > UINT16_MAX) {
      return failWith({ErrorCode::kInvalidArgument, "must be at most 65535", "--port"});
    }
    for (std::string* file : {&input_, &second_}) {
      // Of a recording, the trace beside it.
      if (file->ends_with(".sbr")) file->replace(file->size() - 3, 3, "sbt");
    }
    int code = 0;
    studio::StudioFiles::Shared before;
    if (!second_.empty()) {
      auto read = readForStudio(input_, 1, code);
      if (!read) return failWith(read.error());
      before = std::move(*read);
    }
    const std::string& shown = second_.empty() ? input_ : second_;
    const std::optional<FileState> state = FileState::of(livePath(shown));
    auto trace = readForStudio(shown, 1, code);
    if (!trace) return failWith(trace.error());
    if (!folder_.empty()) return writeSite(**trace, code);
    // All threads inherit this, so that the signals reach only the one that waits for them.
    const sigset_t signals = endSignals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    studio::StudioFiles files(std::move(*trace), std::move(before));
    std::jthread follower;
    if (state && shown.ends_with(".sbt")) {
      follower = std::jthread(
          [&](const std::stop_token& stop) { followFile(shown, *state, files, stop); });
    }
    return serve(files, address, code);
  }

 private:
  int writeSite(const studio::StudioTrace& trace, int code) {
    BusyLine busy("writing " + folder_);
    if (const Status read = trace.readRest(); !read) return failWith(read.error());
    const Result<uint64_t> bytes = studio::writeStaticSite(trace, folder_);
    busy.end();
    if (!bytes) return failWith(bytes.error());
    say(
        fmt::format("wrote {} ({}); serve it with any web server, for example: python3 -m "
                    "http.server -d {}",
                    folder_, formatBytes(*bytes), folder_));
    return code;
  }

  int serve(const studio::StudioFiles& files, const std::string& address, int code) {
    Result<studio::HttpServer> server =
        studio::HttpServer::listen(address, static_cast<uint16_t>(port_.value_or(0)));
    if (!server) return failWith(server.error());
    Result<studio::Access> access = studio::Access::create(address, server->port());
    if (!access) return failWith(access.error());
    limitQueryMemory(kMostQueryMemory);
    const studio::StudioApp app(files, std::move(*access));
    const std::string url = app.access().url();
    fmt::print("{}\n", url);
    std::fflush(stdout);
    say("showing " + files.trace()->source().path + " at this address; Ctrl-C ends it");
    if (!no_browser_) openBrowser(url);
    std::thread waiting([&server] {
      const sigset_t signals = endSignals();
      int signal = 0;
      sigwait(&signals, &signal);
      server->stop();
    });
    std::thread ahead([trace = files.trace()] { readAhead(*trace); });
    server->run([&app](const studio::HttpRequest& request) { return app.respond(request); });
    ahead.join();
    waiting.join();
    return files.trace()->source().complete ? kExitOk : code;
  }

  std::string input_, second_, address_, folder_;
  std::optional<uint64_t> port_;
  bool no_browser_ = false;
  bool exposes_ = false;
};

}  // namespace

std::unique_ptr<Command> makeStudioCommand() { return std::make_unique<StudioCommand>(); }

}  // namespace tracesmith::cli
