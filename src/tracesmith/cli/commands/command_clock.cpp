// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/capture/clocks/peer_clocks.hpp"
#include "tracesmith/capture/clocks/ptp_daemon.hpp"
#include "tracesmith/capture/clocks/time_daemon.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/clock_status.hpp"
#include "tracesmith/clocks/clock_estimate.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith::cli {
namespace {

constexpr double kDefaultSeconds = 10;

std::atomic<bool> clock_stopped{false};

/// SIGINT and SIGTERM end what runs, with its result.
void stopOnSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { clock_stopped = true; };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

struct Measured {
  const ClockProbe* probe = nullptr;
  std::optional<clocks::ClockEstimate> estimate;
  clocks::Bounded offset;
  double drift_ppm = NAN;  // unknown with one burst alone
};

class ClockCommand : public Command {
 public:
  ClockCommand() : Command("clock", "Compare this host's clock with that of other hosts") {
    choice(
        "ACTION", action_, "ACTION", {"serve", "measure", "status"},
        "serve: answer questions about this host's clock; measure: ask other hosts; status: what "
        "this host's time daemons know")
        .required();
    texts("HOST", hosts_, "HOST",
          "For measure: name or address of a host that serves, also as HOST:PORT");
    count("--port", port_, "PORT", fmt::format("For serve: the UDP port (default {})", kClockPort));
    text("--bind", bind_, "ADDRESS", "For serve: answer at this address only (default: all)");
    time("-d,--duration", duration_ns_, "How long (default: serve until Ctrl-C, measure 10 s)");
    text("--ptp-socket", ptp_socket_, "PATH",
         "For status: the socket of ptp4l, its option uds_address (default: /var/run/ptp4l)");
    flag("--json", json_, "For measure and status: print JSON");
    describe(
        "Traces have the time of CLOCK_MONOTONIC, which every host counts from a moment of its "
        "own. 'measure' asks "
        "each host 16 times in a row, twice a second, and prints by how much its clock is ahead of "
        "this one, with a "
        "bound. The bound holds however uneven the network is, since no message arrives before it "
        "is sent; it is "
        "half of the quickest round trip, and a little for drift in between.");
    describe(
        "'serve' needs no rights, answers with as many bytes as it was asked with, and answers an "
        "address no more "
        "than 4096 times a second. It tells this host's time since its start to whoever can reach "
        "the port.");
    describe(
        "'status' asks chrony or ntpd on this host. 'profile' and 'record' store the same once a "
        "second, so that traces of hosts that keep UTC need no other comparison. It also shows "
        "what ptp4l says; that is no bound, so traces do not have it.");
    example("tracesmith clock serve", "Answer, until Ctrl-C");
    example("tracesmith clock measure node2 node3", "Measure two hosts for ten seconds");
    example("tracesmith clock status", "See how well this host knows UTC, and what ptp4l says");
  }

  int run(Session& session) override {
    stopOnSignals();
    if (action_ == "status") return status(session);
    return action_ == "serve" ? serve() : measure(session);
  }

 private:
  int serve() {
    if (!hosts_.empty())
      return failWith({ErrorCode::kInvalidArgument, "takes no hosts", "clock serve"});
    if (port_ && *port_ > UINT16_MAX) {
      return failWith(
          {ErrorCode::kInvalidArgument, "is no port: 0 to 65535", std::to_string(*port_)});
    }
    auto server = ClockServer::open(bind_, static_cast<uint16_t>(port_.value_or(kClockPort)));
    if (!server) return failWith(server.error());
    say(fmt::format("answers at port {}, {}", server->port(),
                    duration_ns_ ? "for " + formatDuration(*duration_ns_) : "until Ctrl-C"));
    std::thread timer;
    if (duration_ns_) {
      timer = std::thread([until = monotonicNs() + *duration_ns_] {
        while (!clock_stopped && monotonicNs() < until)
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        clock_stopped = true;
      });
    }
    const Status served = server->serve(clock_stopped);
    clock_stopped = true;
    if (timer.joinable()) timer.join();
    if (!served) return failWith(served.error());
    const ClockServerCounts& counts = server->counts();
    say(fmt::format(
        "{} questions answered, {} refused as too many, {} answers not sent, {} packets of others",
        counts.answered, counts.refused, counts.unsent, counts.foreign));
    return kExitOk;
  }

  int status(const Session& session) const {
    if (!hosts_.empty()) {
      return failWith({ErrorCode::kInvalidArgument, "takes no hosts", "clock status"});
    }
    const Result<DaemonTime> utc = askTimeDaemon();
    const Result<PtpStatus> ptp = askPtpDaemon(ptp_socket_);
    const bool wanted_ptp = !ptp_socket_.empty();
    if (!ptp && (wanted_ptp || ptp.error().code != ErrorCode::kNotFound)) {
      wanted_ptp ? sayError(ptp.error()) : sayWarning(ptp.error().toString());
    }
    if (!utc && !ptp) {
      Error error = utc.error();
      error.message +=
          "; traces of several hosts then have one time axis only if their clocks are compared "
          "(profile --sync-with)";
      return failWith(error);
    }
    if (!utc && utc.error().code != ErrorCode::kNotFound) sayWarning(utc.error().toString());
    ClockStatus found;
    if (utc) found.utc = *utc;
    if (ptp) found.ptp = *ptp;
    Output out = standardOutput();
    if (json_) {
      JsonWriter json(out, 2);
      writeClockStatus(json, found);
      out.put('\n');
    } else {
      out.write(clockStatusText(found, session.terminal.utf8 ? "µs" : "us"));
    }
    return finishOutput(out, wanted_ptp && !ptp ? exitCodeFor(ptp.error()) : kExitOk);
  }

  int measure(const Session& session) {
    if (hosts_.empty()) {
      return failWith({ErrorCode::kInvalidArgument,
                       "which host? for example: tracesmith clock measure node2", "clock measure"});
    }
    std::vector<ClockProbe> probes;
    for (const std::string& host : hosts_) {
      auto probe = ClockProbe::open(host);
      if (!probe) return failWith(probe.error());
      probes.push_back(std::move(*probe));
    }
    const int64_t duration = duration_ns_.value_or(static_cast<int64_t>(kDefaultSeconds * 1e9));
    std::vector<Status> asked(probes.size());
    {
      BusyLine busy(fmt::format("asking for {}", formatDuration(duration)));
      ask(probes, asked, duration);
    }
    int code = kExitOk;
    std::vector<Measured> results;
    for (size_t i = 0; i < probes.size(); ++i) {
      const ClockProbe& probe = probes[i];
      const ClockProbeCounts& counts = probe.counts();
      if (!asked[i])
        code = failWith(asked[i].error());  // what it answered before counts all the same
      if (!probe.bounds().empty()) {
        results.push_back(resultOf(probe));
      } else if (asked[i]) {
        code = failWith(
            {ErrorCode::kNotFound,
             fmt::format(
                 "gave no answer that could be used: {} questions, {} answers, {} of them with "
                 "times that contradict themselves",
                 counts.asked, counts.answered, counts.impossible),
             probe.host()});
      }
    }
    Output out = standardOutput();
    if (json_) {
      writeJson(out, results);
    } else if (!results.empty()) {
      out.write(table(results, session));
    }
    return finishOutput(out, code);
  }

  /// Until the time is over, or Ctrl-C. A host that turns out not to serve is not asked again.
  static void ask(std::vector<ClockProbe>& probes, std::vector<Status>& asked, int64_t duration) {
    const int64_t begin = monotonicNs();
    const auto goesOn = [&] { return !clock_stopped && monotonicNs() - begin < duration; };
    do {
      const int64_t round = monotonicNs();
      for (size_t i = 0; i < probes.size() && !clock_stopped; ++i) {
        if (asked[i]) asked[i] = probes[i].burst(kClockPatienceNs, clock_stopped);
      }
      while (goesOn() && monotonicNs() - round < kBetweenBurstsNs) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    } while (goesOn());
  }

  static Measured resultOf(const ClockProbe& probe) {
    Measured result{&probe, {}, {}, NAN};
    const std::vector<clocks::OffsetBound>& bounds = probe.bounds();
    result.estimate = *clocks::ClockEstimate::of(bounds);  // there is a bound
    const int64_t first = bounds.front().at, last = bounds.back().at;
    result.offset = result.estimate->offsetAt(last);
    if (last > first && result.estimate->steps().empty()) {
      const auto change =
          static_cast<double>(result.offset.value - result.estimate->offsetAt(first).value);
      result.drift_ppm = change / static_cast<double>(last - first) * 1e6;
    }
    return result;
  }

  static std::string table(const std::vector<Measured>& results, const Session& session) {
    const TerminalStyle style{.width = session.terminal.width,
                              .colour = session.terminal.colour,
                              .utf8 = session.terminal.utf8};
    TextTable table({{.header = "host", .may_shrink = true},
                     {.header = "its clock is ahead by", .align = TextTable::Align::kRight},
                     {.header = "no further off than", .align = TextTable::Align::kRight},
                     {.header = "drift", .align = TextTable::Align::kRight},
                     {.header = "quickest trip", .align = TextTable::Align::kRight},
                     {.header = "answers", .align = TextTable::Align::kRight}});
    std::string steps;
    for (const Measured& each : results) {
      const ClockProbeCounts& counts = each.probe->counts();
      table.add({printable(each.probe->host()), formatOffset(each.offset.value),
                 formatDuration(each.offset.error, style.micro()),
                 std::isnan(each.drift_ppm) ? "" : fmt::format("{:+.3f} ppm", each.drift_ppm),
                 formatDuration(counts.least_trip_ns, style.micro()),
                 fmt::format("{} of {}", counts.answered, counts.asked)});
      for (const auto& step : each.estimate->steps()) {
        steps += fmt::format("{}: a clock was set or corrected in haste meanwhile, by {}\n",
                             printable(each.probe->host()), formatOffset(step.by));
      }
    }
    return table.render(style) + steps;
  }

  static void writeJson(Output& out, const std::vector<Measured>& results) {
    JsonWriter json(out, 2);
    json.beginArray();
    for (const Measured& each : results) {
      const ClockProbeCounts& counts = each.probe->counts();
      json.beginObject()
          .field("host", each.probe->host())
          .field("at_ns", each.probe->bounds().back().at);
      json.field("offset_ns", each.offset.value).field("error_ns", each.offset.error);
      json.field("drift_ppm", each.drift_ppm).field("quickest_trip_ns", counts.least_trip_ns);
      json.field("asked", counts.asked)
          .field("answered", counts.answered)
          .field("foreign", counts.foreign);
      json.field("impossible", counts.impossible).field("bursts", counts.bursts);
      json.field("bursts_without_bound", counts.without_bound);
      json.key("bounds").beginArray();
      for (const clocks::OffsetBound& bound : each.probe->bounds()) {
        json.beginObject().field("at_ns", bound.at).field("low_ns", bound.low);
        json.field("high_ns", bound.high).endObject();
      }
      json.endArray();
      json.key("steps").beginArray();
      for (const auto& step : each.estimate->steps()) {
        json.beginObject()
            .field("after_ns", step.after)
            .field("before_ns", step.before)
            .field("by_ns", step.by);
        json.endObject();
      }
      json.endArray().endObject();
    }
    json.endArray();
    out.put('\n');
  }

  std::string action_, bind_, ptp_socket_;
  std::vector<std::string> hosts_;
  std::optional<uint64_t> port_;
  std::optional<int64_t> duration_ns_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeClockCommand() { return std::make_unique<ClockCommand>(); }

}  // namespace tracesmith::cli
