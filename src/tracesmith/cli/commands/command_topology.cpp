// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/files/trace_topology.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/this_system.hpp"
#include "tracesmith/export/topology/topology_text.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::cli {
namespace {

/// "ranks 0-3, 8 on node7"
std::string headingOf(const HostTopology& host) {
  std::string ranks;
  for (size_t i = 0; i < host.ranks.size();) {
    size_t end = i + 1;
    while (end < host.ranks.size() && host.ranks[end] == host.ranks[end - 1] + 1) ++end;
    ranks += fmt::format("{}{}", i == 0 ? "" : ", ", host.ranks[i]);
    if (end - i > 1) ranks += fmt::format("-{}", host.ranks[end - 1]);
    i = end;
  }
  return fmt::format("{} {}{}", host.ranks.size() == 1 ? "rank" : "ranks", ranks,
                     host.hostname.empty() ? "" : " on " + printable(host.hostname));
}

class TopologyCommand : public Command {
 public:
  TopologyCommand()
      : Command("topology", "Show how GPUs, network adapters and processors are connected") {
    text("--from", from_, "FILE|DIR",
         "Read this instead of the running system: a trace, XML of NCCL, RCCL or hwloc, the table "
         "of 'nvidia-smi topo -m', or a folder with a copy of a system's /sys",
         Complete::kFile);
    count("--rank", rank_, "N", "Of a merged trace the host of rank N (default: every host)");
    const Option json = flag("--json", json_, "Print JSON, with the route between any two devices");
    const Option dot = flag("--dot", dot_, "Print a graph for Graphviz");
    const Option svg = flag("--svg", svg_, "Print a drawing");
    json.excludes(dot).excludes(svg);
    dot.excludes(svg);
    describe(
        "Shows the PCIe tree with the rate of each connection, how any two GPUs reach each other, "
        "and the network "
        "adapters that are nearest to each GPU. Routes have the names of 'nvidia-smi topo -m'. "
        "Rates are those of the "
        "standards, per direction; nothing is measured. What contradicts itself is named at the "
        "end.");
    example("tracesmith topology", "Show this system");
    example("tracesmith topology --from topo.xml",
            "Show what NCCL_TOPO_DUMP_FILE=topo.xml has written");
    example("tracesmith topology --from run.sbt", "Show the system on which a trace was recorded");
    example("tracesmith topology --svg > topology.svg", "Draw it");
  }

  int run(Session& session) override {
    std::optional<TraceFile> trace;
    const auto hosts = read(trace);
    if (!hosts) return failWith(hosts.error());
    if (hosts->size() > 1 && (json_ || dot_ || svg_)) {
      std::string all;
      for (const HostTopology& host : *hosts) all += "; " + headingOf(host);
      return failWith({ErrorCode::kInvalidArgument,
                       fmt::format("has {} hosts{}; choose one with --rank", hosts->size(), all),
                       from_});
    }
    Output out = standardOutput();
    for (const HostTopology& host : *hosts) {
      if (&host != &hosts->front()) out.put('\n');
      if (!host.ranks.empty() && !json_ && !dot_ && !svg_) out.write(headingOf(host) + "\n");
      write(host.topology, session, out);
    }
    return finishOutput(out, trace ? reportLosses(trace->reader, from_, kExitOk) : kExitOk);
  }

 private:
  /// A trace stays open in `trace`, for what could not be read of it.
  Result<std::vector<HostTopology>> read(std::optional<TraceFile>& trace) const {
    if (!from_.empty() && isTraceFile(from_)) {
      // No more than what is always read: the tables of the topology are among that.
      TS_TRY(trace, readTraceFile(from_, {.tables = {TableId::kMetadata}}));
      if (rank_) TS_CHECK_OK(chooseRank(*trace, rank_));
      return topologiesOf(*trace);
    }
    if (rank_) return fail(ErrorCode::kInvalidArgument, "--rank is for a trace");
    TS_TRY(topology::Topology topology,
           from_.empty() ? topologyOfThisSystem() : topology::readTopology(from_));
    return std::vector{HostTopology{{}, {}, std::move(topology)}};
  }

  void write(const topology::Topology& topology, const Session& session, Output& out) const {
    if (json_) {
      JsonWriter json(out, 2);
      topology::writeJson(json, topology);
      out.put('\n');
    } else if (dot_) {
      out.write(topology::asDot(topology));
    } else if (svg_) {
      out.write(topology::asSvg(topology));
    } else {
      out.write(topology::asText(topology, {.width = session.terminal.width,
                                            .colour = session.terminal.colour,
                                            .utf8 = session.terminal.utf8}));
    }
  }

  std::string from_;
  std::optional<uint64_t> rank_;
  bool json_ = false, dot_ = false, svg_ = false;
};

}  // namespace

std::unique_ptr<Command> makeTopologyCommand() { return std::make_unique<TopologyCommand>(); }

}  // namespace tracesmith::cli
