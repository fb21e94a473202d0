// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/trace_topology.hpp"

#include <utility>

#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/topology/topology_rows.hpp"

namespace tracesmith::cli {
namespace {

bool isSame(const topology::Topology& a, const topology::Topology& b) {
  return a.nodes == b.nodes && a.links == b.links && a.problems == b.problems;
}

void addTo(std::vector<HostTopology>& hosts, HostTopology host) {
  for (HostTopology& known : hosts) {
    if (known.hostname != host.hostname || !isSame(known.topology, host.topology)) continue;
    known.ranks.insert(known.ranks.end(), host.ranks.begin(), host.ranks.end());
    return;
  }
  hosts.push_back(std::move(host));
}

}  // namespace

Result<std::vector<HostTopology>> topologiesOf(const TraceFile& file) {
  std::vector<HostTopology> hosts;
  Status has_one;
  const auto take = [&](const Trace& part, std::vector<uint32_t> ranks) {
    auto topology = topology::topologyOf(part);
    if (!topology) {
      has_one = fail(topology.error().code, topology.error().message, file.path);
      return;
    }
    addTo(hosts,
          {std::move(ranks), std::string(part.metadataValue("hostname")), std::move(*topology)});
  };
  if (isMerged(file.trace)) {
    for (size_t i = 0; i < file.trace.rank.size(); ++i) {
      take(partOfRank(file.trace, idAt<RankId>(i)), {file.trace.rank.number[i]});
    }
  } else {
    take(file.trace, {});
  }
  if (hosts.empty()) return tl::unexpected<Error>(has_one.error());
  return hosts;
}

}  // namespace tracesmith::cli
