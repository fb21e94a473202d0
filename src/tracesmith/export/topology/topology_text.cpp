// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/topology/topology_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracesmith/base/human_units.hpp"

namespace tracesmith::topology {

namespace {

constexpr size_t kMostInTable = 64;  // GPUs; more are no longer a table that can be read

std::string counted(size_t n, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

/// Devices and what leads to them: a branch without devices says nothing.
class Tree {
 public:
  explicit Tree(const Topology& t) : t_(t), children_(t.nodes.size()) {
    for (NodeIndex i = 1; i < t.nodes.size(); ++i) {
      if (t.nodes[i].parent < t.nodes.size()) children_[t.nodes[i].parent].push_back(i);
    }
    for (auto& of_one : children_) {
      std::stable_sort(of_one.begin(), of_one.end(), [&](NodeIndex a, NodeIndex b) {
        const Node &x = t_.nodes[a], &y = t_.nodes[b];
        if (x.kind != y.kind) return x.kind < y.kind;
        return x.pci != y.pci ? x.pci < y.pci : x.number < y.number;
      });
    }
  }

  void lines(NodeIndex node, const std::string& indent, TextTable& table) const {
    const Node& n = t_.nodes[node];
    if (node != 0) {
      std::string what = n.name;
      if (n.kind == NodeKind::kNuma) what = n.cpus.empty() ? "" : "CPUs " + n.cpus;
      if (n.kind == NodeKind::kHostBridge) what = "";
      if (n.kind == NodeKind::kNic && n.network_gbps > 0) {
        what = fmt::format("network {:.4g} Gb/s", n.network_gbps * 8);
      } else if (n.kind == NodeKind::kNic) {
        what = n.vendor;
      }
      if (what.empty() && n.kind == NodeKind::kGpu) what = n.vendor;
      const bool has_address =
          n.kind != NodeKind::kPciSwitch && n.kind != NodeKind::kPciDevice && n.pci;
      const std::string rate = rateText(n.uplink_gbps);
      const std::string uplink =
          n.uplink.ends_with("GB/s") || rate.empty() ? n.uplink : n.uplink + ", " + rate;
      table.add({indent + printable(t_.label(node)), has_address ? toString(*n.pci) : "",
                 printable(what), uplink});
    }
    for (const NodeIndex child : children_[node])
      lines(child, node == 0 ? indent : indent + "  ", table);
  }

 private:
  const Topology& t_;
  std::vector<std::vector<NodeIndex>> children_;
};

std::string legend(const std::vector<std::string>& cells) {
  constexpr std::pair<const char*, const char*> kMeaning[] = {
      {"PIX", "one PCIe switch"}, {"PXB", "several PCIe switches"},
      {"PHB", "a host bridge"},   {"NODE", "two host bridges of a NUMA node"},
      {"SYS", "two NUMA nodes"},  {"?", "not known"}};
  std::string text;
  const auto add = [&](std::string_view key, std::string_view meaning) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, meaning);
  };
  const auto begins = [&](std::string_view with) {
    return std::any_of(cells.begin(), cells.end(),
                       [&](const std::string& c) { return c.starts_with(with); });
  };
  if (begins("NV")) add("NVn", "n NVLinks");
  if (begins("XG")) add("XGn", "n xGMI links");
  if (begins("MX")) add("MXn", "n MXLinks");
  if (begins("C2C")) add("C2C", "NVLink-C2C");
  for (const auto& [key, meaning] : kMeaning) {
    if (std::find(cells.begin(), cells.end(), key) != cells.end()) add(key, meaning);
  }
  return text;
}

/// For each GPU its links to others and its nearest adapters, as far as there are any.
std::string gpusText(const Routes& routes, const TerminalStyle& style) {
  const Topology& topology = routes.topology();
  const bool has_links = !topology.links.empty();
  const bool has_adapters = !topology.ofKind(NodeKind::kNic).empty();
  const std::vector<NodeIndex> gpus = topology.ofKind(NodeKind::kGpu);
  if (gpus.empty() || (!has_links && !has_adapters)) return "";
  std::vector<TextTable::Column> columns = {{.header = "GPU"}};
  if (has_links) columns.push_back({.header = "links"});
  if (has_adapters) columns.push_back({.header = "nearest network adapters", .may_shrink = true});
  TextTable table(std::move(columns));
  for (const NodeIndex gpu : gpus) {
    std::vector<std::string> row = {topology.label(gpu)};
    if (has_links) {
      std::string& links = row.emplace_back();
      for (const Fabric& fabric : routes.fabricsOf(gpu)) {
        links += fmt::format("{}{} x {}", links.empty() ? "" : "; ", fabric.links,
                             toString(fabric.type));
        if (fabric.gbps > 0) links += ", " + rateText(fabric.gbps);
      }
    }
    if (has_adapters) {
      std::string& adapters = row.emplace_back();
      const std::vector<NodeIndex> nearest = routes.nearestAdapters(gpu);
      for (const NodeIndex nic : nearest) {
        adapters += (adapters.empty() ? "" : ", ") + printable(topology.label(nic));
      }
      if (!nearest.empty()) adapters += " (" + pathText(routes.between(gpu, nearest.front())) + ")";
    }
    table.add(std::move(row));
  }
  return "\n" + table.render(style);
}

std::string graphText(const CommGraph& graph) {
  std::string text =
      fmt::format("graph {}: {} over {}, {} in the machine, {} between machines\n", graph.id,
                  printable(graph.pattern), counted(graph.channels.size(), "channel", "channels"),
                  fmt::format("{:.4g} GB/s {}", graph.speed_intra, printable(graph.type_intra)),
                  fmt::format("{:.4g} GB/s {}", graph.speed_inter, printable(graph.type_inter)));
  for (const auto& channel : graph.channels) {
    text += "  ";
    for (size_t i = 0; i < channel.size(); ++i)
      text += fmt::format("{}GPU{}", i > 0 ? " - " : "", channel[i]);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string rateText(double gbps) { return gbps > 0 ? formatBandwidth(gbps * 1e9) : ""; }

std::string summaryOf(const Topology& topology) {
  std::string text;
  const auto add = [&](NodeKind kind, const char* one, const char* several) {
    const size_t n = topology.ofKind(kind).size();
    if (n > 0) text += (text.empty() ? "" : ", ") + counted(n, one, several);
  };
  add(NodeKind::kGpu, "GPU", "GPUs");
  add(NodeKind::kNvSwitch, "NVSwitch", "NVSwitches");
  add(NodeKind::kNic, "network adapter", "network adapters");
  add(NodeKind::kNuma, "NUMA node", "NUMA nodes");
  add(NodeKind::kPciDevice, "PCI device of unknown kind", "PCI devices of unknown kind");
  return text.empty() ? "no devices" : text;
}

std::string asText(const Topology& topology, const TerminalStyle& style) {
  std::string out =
      style.bold(summaryOf(topology)) + style.dim("   from " + printable(topology.source)) + "\n";
  TextTable tree({{.header = "device", .align = TextTable::Align::kLeft},
                  {.header = "PCI address", .align = TextTable::Align::kLeft},
                  {.header = "what it is", .align = TextTable::Align::kLeft, .may_shrink = true},
                  {.header = "connected by", .align = TextTable::Align::kLeft}});
  Tree(topology).lines(0, "", tree);
  if (tree.size() > 0) out += "\n" + tree.render(style);

  const Routes routes(topology);
  const std::vector<NodeIndex> gpus = topology.ofKind(NodeKind::kGpu);
  if (gpus.size() > kMostInTable) {
    out += fmt::format("\nHow GPUs reach each other is left out: there are more than {}\n",
                       kMostInTable);
  } else if (gpus.size() > 1) {
    std::vector<TextTable::Column> columns = {{.header = "", .align = TextTable::Align::kLeft}};
    for (const NodeIndex gpu : gpus) columns.push_back({.header = topology.label(gpu)});
    TextTable table(std::move(columns));
    std::vector<std::string> cells;
    for (const NodeIndex a : gpus) {
      std::vector<std::string> row = {topology.label(a)};
      for (const NodeIndex b : gpus) {
        row.push_back(pathText(routes.between(a, b)));
        cells.push_back(row.back());
      }
      table.add(std::move(row));
    }
    out += "\nHow GPUs reach each other\n" + table.render(style) + style.dim(legend(cells)) + "\n";
  }
  out += gpusText(routes, style);
  for (const CommGraph& graph : topology.graphs) out += "\n" + graphText(graph);
  if (!topology.problems.empty()) {
    out += "\n" + style.bold("What does not fit together") + "\n";
    for (const std::string& problem : topology.problems) out += "  " + printable(problem) + "\n";
  }
  return out;
}

}  // namespace tracesmith::topology
