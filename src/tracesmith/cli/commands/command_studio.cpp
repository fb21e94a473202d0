// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_file.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/studio/server/studio_app.hpp"

namespace tracesmith::cli {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

sigset_t endSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  return signals;
}

/// Opens the address in the user's browser; says nothing if there is none.
void openBrowser(const std::string& url) {
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

class StudioCommand : public Command {
 public:
  StudioCommand() : Command("studio", "Show a trace in the browser") {
    text("FILE", input_, "FILE", "Trace (.sbt), or another tool's trace", Complete::kFile)
        .required();
    count("--port", port_, "N", "Port of the server (default: any free one)");
    text("--bind", address_, "ADDRESS",
         "IP address of the server (default: 127.0.0.1, which only this machine reaches)");
    flag("--yes-expose", exposes_,
         "Needed for other addresses: whoever knows the printed address can read the whole trace, "
         "and it is sent unencrypted");
    flag("--no-browser", no_browser_, "Only print the address; open no browser");
    describe(
        "Starts a server on this machine, prints its address and opens it in a browser. Ctrl-C "
        "ends it. The address has a token, without which nobody gets the trace. Nothing of the "
        "trace leaves the machine. See docs/studio.md.");
    example("tracesmith studio out.sbt", "Open a trace in the browser");
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
    Result<TraceFile> file = readTraceFile(input_);
    if (!file) return failWith(file.error());
    if (const Status chosen = chooseOrAlignRanks(*file, std::nullopt); !chosen) {
      return failWith(chosen.error());
    }
    const int code = reportLosses(file->reader, input_, 0);
    // All threads inherit this, so that the signals reach only the one that waits for them.
    const sigset_t signals = endSignals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    studio::StudioFiles files(std::make_shared<studio::StudioTrace>(
        studio::StudioTrace::Source{.path = input_, .complete = code == 0},
        std::move(file->trace)));
    return serve(files, address, code);
  }

 private:
  int serve(const studio::StudioFiles& files, const std::string& address, int code) {
    Result<studio::HttpServer> server =
        studio::HttpServer::listen(address, static_cast<uint16_t>(port_.value_or(0)));
    if (!server) return failWith(server.error());
    Result<studio::Access> access = studio::Access::create(address, server->port());
    if (!access) return failWith(access.error());
    const studio::StudioApp app(files, std::move(*access));
    const std::string url = app.access().url();
    fmt::print("{}\n", url);
    std::fflush(stdout);
    say("showing " + input_ + " at this address; Ctrl-C ends it");
    if (!no_browser_) openBrowser(url);
    std::thread waiting([&server] {
      const sigset_t signals = endSignals();
      int signal = 0;
      sigwait(&signals, &signal);
      server->stop();
    });
    std::thread tiles([trace = files.trace()] { trace->tiles().makeAll(); });
    server->run([&app](const studio::HttpRequest& request) { return app.respond(request); });
    tiles.join();
    waiting.join();
    return code;
  }

  std::string input_, address_;
  std::optional<uint64_t> port_;
  bool no_browser_ = false;
  bool exposes_ = false;
};

}  // namespace

std::unique_ptr<Command> makeStudioCommand() { return std::make_unique<StudioCommand>(); }

}  // namespace tracesmith::cli
