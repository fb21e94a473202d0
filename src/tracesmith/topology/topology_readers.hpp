// SPDX-License-Identifier: Apache-2.0
// Readers of what other tools and the kernel say about a machine's topology.
#pragma once

#include <string>
#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/topology/topology.hpp"
#include "tracesmith/topology/xml_tree.hpp"

namespace tracesmith::topology {

/// A file of one of the kinds below, known by its content, or a folder that has `sys` as a root
/// file system does.
Result<Topology> readTopology(const std::string& path);
/// The same for the content of such a file; `where` is its name in errors.
Result<Topology> readTopologyText(std::string_view text, const std::string& where);

/// What NCCL and RCCL write for NCCL_TOPO_DUMP_FILE and read for NCCL_TOPO_FILE.
Result<Topology> readNcclTopology(const XmlElement& system);
/// What they write for NCCL_GRAPH_DUMP_FILE: rings and trees, and no topology.
Result<Topology> readNcclGraphs(const XmlElement& graphs);
/// What hwloc's lstopo writes as XML, version 2 or 3.
Result<Topology> readHwlocXml(const XmlElement& topology);
/// The table that `nvidia-smi topo -m` prints.
Result<Topology> readNvidiaSmiMatrix(std::string_view text);
/// What the kernel says in `root`/sys (PCI, NUMA nodes, network adapters, AMD's GPUs).
Result<Topology> readSysfs(const std::string& root);

}  // namespace tracesmith::topology
