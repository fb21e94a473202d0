// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/operation_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
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

/// An operation, or all operations of one name on one stream.
struct Node {
  StreamId stream{};
  StringId name{};
  TableId table{};
  bool host = false;
  uint64_t count = 0;
  int64_t total = 0;
};

/// Builds the text of a graph in DOT; each function adds to it.
class DotWriter {
 public:
  DotWriter(const Trace& trace, const OperationGraph& graph, const DotOptions& options)
      : trace_(trace), graph_(graph), options_(options) {}

  std::string write();

 private:
  static constexpr uint32_t kOut = ~uint32_t{0};

  void makeNodes();
  void chooseLongest();
  void writeStreams();
  std::string titleOf(StreamId stream) const;
  void writeNode(uint32_t number);
  void writeEdges();

  const Trace& trace_;
  const OperationGraph& graph_;
  const DotOptions& options_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> node_of_;  // by operation; kOut: none
  std::vector<bool> shown_;        // by node
  std::string out_;
};

void DotWriter::makeNodes() {
  std::map<std::tuple<StreamId, StringId, TableId, bool>, uint32_t> known;
  node_of_.assign(graph_.operations.size(), kOut);
  for (size_t i = 0; i < graph_.operations.size(); ++i) {
    const Operation& op = graph_.operations[i];
    if (op.begin_ns >= options_.to_ns || op.end_ns < options_.from_ns) continue;
    auto at = static_cast<uint32_t>(nodes_.size());
    if (options_.collapse) {
      at = known.try_emplace({op.stream, op.name, op.table, op.host_wait}, at).first->second;
    }
    if (at == nodes_.size()) nodes_.push_back({op.stream, op.name, op.table, op.host_wait});
    ++nodes_[at].count;
    nodes_[at].total += op.end_ns - op.begin_ns;
    node_of_[i] = at;
  }
}

void DotWriter::chooseLongest() {
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return nodes_[a].total > nodes_[b].total; });
  shown_.assign(nodes_.size(), false);
  for (size_t i = 0; i < std::min(order.size(), options_.most_nodes); ++i) shown_[order[i]] = true;
}

std::string DotWriter::titleOf(StreamId stream) const {
  const auto s = static_cast<size_t>(stream);
  if (s == 0 || s > trace_.stream.size()) return "host";
  const auto d = static_cast<size_t>(trace_.stream.device_id[s - 1]);
  return fmt::format("device {}, stream {}",
                     d == 0 || d > trace_.device.size() ? 0 : trace_.device.ordinal[d - 1],
                     trace_.stream.ordinal[s - 1]);
}

void DotWriter::writeNode(uint32_t number) {
  const Node& n = nodes_[number];
  std::string_view name = trace_.text(n.name);
  if (name.empty()) name = what(n.table);
  std::string label = shortened(name) + "\n";
  if (n.count > 1) label += fmt::format("{} x, ", n.count);
  label += duration(n.total);
  const char* colour = n.host                        ? "#eeeeee"
                       : n.table == TableId::kKernel ? "#cfe2ff"
                       : n.table == TableId::kSync   ? "#fff3cd"
                                                     : "#d1e7dd";
  out_ += fmt::format("    n{} [label={}, tooltip={}, fillcolor=\"{}\"];\n", number, quoted(label),
                      quoted(name), colour);
}

void DotWriter::writeStreams() {
  std::map<StreamId, std::vector<uint32_t>> by_stream;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (shown_[i]) by_stream[nodes_[i].host ? StreamId::kNone : nodes_[i].stream].push_back(i);
  }
  for (const auto& [stream, members] : by_stream) {
    out_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n", static_cast<uint32_t>(stream),
                        quoted(titleOf(stream)));
    for (const uint32_t i : members) writeNode(i);
    out_ += "  }\n";
  }
}

void DotWriter::writeEdges() {
  struct Edge {
    uint64_t count = 0;
    bool exact = true;
  };
  std::map<std::tuple<uint32_t, uint32_t, DependencyType>, Edge> edges;
  for (const Dependency& d : graph_.dependencies) {
    const uint32_t from = node_of_[d.from];
    const uint32_t to = node_of_[d.to];
    if (from == kOut || to == kOut || !shown_[from] || !shown_[to] || from == to) continue;
    Edge& e = edges[{from, to, d.type}];
    ++e.count;
    e.exact = e.exact && d.exact();
  }
  for (const auto& [key, edge] : edges) {
    const auto& [from, to, type] = key;
    std::string label;
    if (type != DependencyType::Sequential) label = toString(type);
    if (edge.count > 1) label += fmt::format("{}{} x", label.empty() ? "" : ", ", edge.count);
    out_ += fmt::format("  n{} -> n{} [label={}{}];\n", from, to, quoted(label),
                        edge.exact ? "" : ", style=dashed");
  }
}

std::string DotWriter::write() {
  makeNodes();
  chooseLongest();
  out_ =
      "digraph dependencies {\n  rankdir=TB;\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", "
      "fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=9];\n";
  writeStreams();
  writeEdges();
  if (nodes_.size() > options_.most_nodes) {
    out_ += fmt::format("  label={};\n", quoted(fmt::format("the {} longest of {} are shown",
                                                            options_.most_nodes, nodes_.size())));
  }
  return std::move(out_) + "}\n";
}

}  // namespace

std::string dependencyDot(const Trace& trace, const OperationGraph& graph,
                          const DotOptions& options) {
  return DotWriter(trace, graph, options).write();
}

}  // namespace tracesmith
