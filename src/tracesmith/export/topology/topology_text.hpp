// SPDX-License-Identifier: Apache-2.0
// A topology for people and other tools: as text, JSON, DOT (Graphviz) and SVG.
#pragma once

#include <string>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/topology/routes.hpp"
#include "tracesmith/topology/topology.hpp"

namespace tracesmith::topology {

/// The tree of devices, a table of how GPUs reach each other, and for each GPU its nearest
/// adapters.
std::string asText(const Topology& topology, const TerminalStyle& style);
void writeJson(JsonWriter& json, const Topology& topology);
std::string asDot(const Topology& topology);
std::string asSvg(const Topology& topology);

/// "8 GPUs, 9 adapters, 2 NUMA nodes".
std::string summaryOf(const Topology& topology);
/// "63 GB/s"; empty if it is 0, which stands for unknown.
std::string rateText(double gbps);

}  // namespace tracesmith::topology
