// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/operation_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace tracesmith {
namespace {

constexpr size_t kLongestName = 48;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string shortened(std::string_view name) {
  if (name.size() <= kLongestName) return std::string(name);
  size_t end = kLongestName - 3;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return std::string(name.substr(0, end)) + "...";
}

std::string duration(int64_t ns) {
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
}

std::string_view what(TableId table) {
  switch (table) {
    case TableId::kCopy:
      return "copy";
    case TableId::kFill:
      return "fill";
    case TableId::kSync:
      return "wait";
    default:
      return "kernel";
  }
}

struct Node {
  StreamId stream{};
  StringId name{};
  TableId table{};
  bool host = false;
  uint64_t count = 0;
  int64_t total = 0;
};

}  // namespace

std::string dependencyDot(const Trace& trace, const OperationGraph& graph,
                          const DotOptions& options) {
  std::vector<Node> nodes;
  std::map<std::tuple<StreamId, StringId, TableId, bool>, uint32_t> known;
  constexpr uint32_t kOut = ~uint32_t{0};
  std::vector<uint32_t> node_of(graph.operations.size(), kOut);
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& op = graph.operations[i];
    if (op.begin_ns >= options.to_ns || op.end_ns < options.from_ns) continue;
    auto at = static_cast<uint32_t>(nodes.size());
    if (options.collapse) {
      at = known.try_emplace({op.stream, op.name, op.table, op.host_wait}, at).first->second;
    }
    if (at == nodes.size()) nodes.push_back({op.stream, op.name, op.table, op.host_wait});
    ++nodes[at].count;
    nodes[at].total += op.end_ns - op.begin_ns;
    node_of[i] = at;
  }
  std::vector<uint32_t> order(nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return nodes[a].total > nodes[b].total; });
  std::vector<bool> shown(nodes.size(), false);
  for (size_t i = 0; i < std::min(order.size(), options.most_nodes); ++i) shown[order[i]] = true;

  std::string out =
      "digraph dependencies {\n  rankdir=TB;\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", "
      "fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=9];\n";
  std::map<StreamId, std::vector<uint32_t>> by_stream;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (shown[i]) by_stream[nodes[i].host ? StreamId::kNone : nodes[i].stream].push_back(i);
  }
  for (const auto& [stream, members] : by_stream) {
    std::string title = "host";
    if (const auto s = static_cast<size_t>(stream); s != 0 && s <= trace.stream.size()) {
      const auto d = static_cast<size_t>(trace.stream.device_id[s - 1]);
      title = fmt::format("device {}, stream {}",
                          d == 0 || d > trace.device.size() ? 0 : trace.device.ordinal[d - 1],
                          trace.stream.ordinal[s - 1]);
    }
    out += fmt::format("  subgraph cluster_{} {{\n    label={};\n", static_cast<uint32_t>(stream),
                       quoted(title));
    for (const uint32_t i : members) {
      const Node& n = nodes[i];
      std::string_view name = trace.text(n.name);
      if (name.empty()) name = what(n.table);
      std::string label = shortened(name) + "\n";
      if (n.count > 1) label += fmt::format("{} x, ", n.count);
      label += duration(n.total);
      const char* colour = n.host                        ? "#eeeeee"
                           : n.table == TableId::kKernel ? "#cfe2ff"
                           : n.table == TableId::kSync   ? "#fff3cd"
                                                         : "#d1e7dd";
      out += fmt::format("    n{} [label={}, tooltip={}, fillcolor=\"{}\"];\n", i, quoted(label),
                         quoted(name), colour);
    }
    out += "  }\n";
  }
  struct Edge {
    uint64_t count = 0;
    bool exact = true;
  };
  std::map<std::tuple<uint32_t, uint32_t, DependencyType>, Edge> edges;
  for (const Dependency& d : graph.dependencies) {
    const uint32_t from = node_of[d.from];
    const uint32_t to = node_of[d.to];
    if (from == kOut || to == kOut || !shown[from] || !shown[to] || from == to) continue;
    Edge& e = edges[{from, to, d.type}];
    ++e.count;
    e.exact = e.exact && d.exact();
  }
  for (const auto& [key, edge] : edges) {
    const auto& [from, to, type] = key;
    std::string label;
    if (type != DependencyType::Sequential) label = toString(type);
    if (edge.count > 1) label += fmt::format("{}{} x", label.empty() ? "" : ", ", edge.count);
    out += fmt::format("  n{} -> n{} [label={}{}];\n", from, to, quoted(label),
                       edge.exact ? "" : ", style=dashed");
  }
  if (nodes.size() > options.most_nodes) {
    out += fmt::format("  label={};\n", quoted(fmt::format("the {} longest of {} are shown",
                                                           options.most_nodes, nodes.size())));
  }
  return out + "}\n";
}

}  // namespace tracesmith
