// SPDX-License-Identifier: Apache-2.0
// The drawing: processors above, PCIe switches in rows below them, devices in a row; links between
// GPUs are arcs below that, and NVSwitches a row of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tracesmith/export/output/xml_text.hpp"
#include "tracesmith/export/text/terminal_table.hpp"
#include "tracesmith/export/topology/topology_text.hpp"

namespace tracesmith::topology {

namespace {

constexpr double kColumn = 112;  // of a device
constexpr double kRow = 74;
constexpr double kBoxWidth = 100;
constexpr double kBoxHeight = 40;
constexpr double kMargin = 24;
constexpr double kHeading = 40;

std::string escaped(std::string_view text) { return escapedXml(printable(text)); }

bool isDevice(NodeKind kind) {
  return kind == NodeKind::kGpu || kind == NodeKind::kNic || kind == NodeKind::kPciDevice;
}

class TopologyDrawing {
 public:
  explicit TopologyDrawing(const Topology& topology)
      : t_(topology), children_(t_.nodes.size()), x_(t_.nodes.size(), -1), y_(t_.nodes.size(), -1) {
    for (NodeIndex i = 1; i < t_.nodes.size(); ++i) {
      if (t_.nodes[i].parent < t_.nodes.size() && t_.nodes[i].kind != NodeKind::kNvSwitch) {
        children_[t_.nodes[i].parent].push_back(i);
      }
    }
    for (auto& of_one : children_) {
      std::stable_sort(of_one.begin(), of_one.end(), [&](NodeIndex a, NodeIndex b) {
        const Node &x = t_.nodes[a], &y = t_.nodes[b];
        if (isDevice(x.kind) != isDevice(y.kind)) return isDevice(y.kind);
        if (x.kind != y.kind) return x.kind < y.kind;
        return x.kind == NodeKind::kGpu || x.kind == NodeKind::kNuma ? x.number < y.number
                                                                     : x.pci < y.pci;
      });
    }
    for (NodeIndex i = 0; i < t_.nodes.size(); ++i) deepest_ = std::max(deepest_, switchesAbove(i));
    place(0);
  }

  std::string draw() {
    switches();
    const double devices_y = rowOf(deepest_ + 1);
    const double width = std::max(next_column_ * kColumn, 4 * kColumn) + 2 * kMargin;
    std::string arcs = links(devices_y + kBoxHeight);
    for (NodeIndex i = 1; i < t_.nodes.size(); ++i) {
      if (x_[i] >= 0) node(i);
    }
    const double height = bottom_ + kMargin;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
               "width=\"{0:.0f}\" "
               "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
               "<text x=\"{2:.0f}\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{3}</text>\n",
               width, height, kMargin, escaped(summaryOf(t_))) +
           below_ + lines_ + arcs + boxes_ + "</svg>\n";
  }

 private:
  int switchesAbove(NodeIndex node) const {
    int switches = 0;
    for (NodeIndex i = node; i != kNoNode; i = t_.nodes[i].parent)
      switches += t_.nodes[i].kind == NodeKind::kPciSwitch;
    return switches;
  }
  static double rowOf(int row) { return kHeading + kMargin + row * kRow; }

  /// Gives a node the middle of its devices; those without any are left out.
  void place(NodeIndex i) {
    const Node& node = t_.nodes[i];
    if (isDevice(node.kind)) {
      x_[i] = kMargin + (next_column_ + 0.5) * kColumn;
      y_[i] = rowOf(deepest_ + 1);
      ++next_column_;
      return;
    }
    const double first = next_column_;
    for (const NodeIndex child : children_[i]) place(child);
    if (next_column_ == first) {
      if (node.kind != NodeKind::kNuma) return;
      ++next_column_;
    }
    x_[i] = kMargin + (first + next_column_) / 2 * kColumn;
    // The row of the processors is the first one.
    y_[i] = node.kind == NodeKind::kPciSwitch ? rowOf(switchesAbove(i)) : rowOf(0);
    if (node.kind == NodeKind::kNuma) {
      below_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"8\" "
          "fill=\"#f4f6f8\" "
          "stroke=\"#c5ccd3\"/>\n",
          kMargin + first * kColumn + 2, rowOf(0) - 10, (next_column_ - first) * kColumn - 4,
          rowOf(deepest_ + 1) - rowOf(0) + kBoxHeight + 20);
    }
  }

  void switches() {
    const std::vector<NodeIndex> all = t_.ofKind(NodeKind::kNvSwitch);
    const double each = std::max(next_column_ * kColumn, 4 * kColumn) /
                        static_cast<double>(std::max<size_t>(all.size(), 1));
    for (size_t i = 0; i < all.size(); ++i) {
      x_[all[i]] = kMargin + (static_cast<double>(i) + 0.5) * each;
      y_[all[i]] = rowOf(deepest_ + 2) + kRow;
      bottom_ = std::max(bottom_, y_[all[i]] + kBoxHeight);
    }
  }

  std::string links(double devices_bottom) {
    std::string out;
    bottom_ = std::max(bottom_, devices_bottom + 10);
    uint32_t most = 1;
    for (const Link& link : t_.links) most = std::max(most, link.count);
    for (const Link& link : t_.links) {
      if (x_[link.a] < 0 || x_[link.b] < 0) continue;
      const double width = 1.2 + 2.8 * (link.count - 1) / std::max(most - 1, 1U);
      const std::string title = escaped(
          fmt::format("{} - {}: {} {}{}", t_.label(link.a), t_.label(link.b), link.count,
                      toString(link.type), link.gbps_ab > 0 ? ", " + rateText(link.gbps_ab) : ""));
      const bool is_arc = isDevice(t_.nodes[link.a].kind) && isDevice(t_.nodes[link.b].kind);
      std::string path;
      if (is_arc) {
        const double depth = 24 + std::abs(x_[link.a] - x_[link.b]) * 0.22;
        bottom_ = std::max(bottom_, devices_bottom + depth * 0.75 + 8);
        path = fmt::format("M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x_[link.a],
                           devices_bottom, x_[link.a], devices_bottom + depth, x_[link.b],
                           devices_bottom + depth, x_[link.b], devices_bottom);
      } else {
        const auto end = [&](NodeIndex i, NodeIndex other) {
          return y_[i] < y_[other] ? y_[i] + kBoxHeight : y_[i];
        };
        path = fmt::format("M{:.1f} {:.1f} L{:.1f} {:.1f}", x_[link.a], end(link.a, link.b),
                           x_[link.b], end(link.b, link.a));
      }
      out += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"#31a354\" stroke-opacity=\"0.7\" "
          "stroke-width=\"{:.1f}\"><title>{}</title></path>\n",
          path, width, title);
    }
    return out;
  }

  void node(NodeIndex i) {
    const Node& node = t_.nodes[i];
    if (node.kind == NodeKind::kHostBridge) return;
    NodeIndex parent = node.parent;
    while (parent != kNoNode && t_.nodes[parent].kind == NodeKind::kHostBridge)
      parent = t_.nodes[parent].parent;
    if (node.kind != NodeKind::kNvSwitch && node.kind != NodeKind::kNuma && parent != kNoNode &&
        parent != 0 && x_[parent] >= 0) {
      lines_ += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
          "stroke=\"#7a8793\"><title>{}"
          "</title></line>\n",
          x_[parent], y_[parent] + kBoxHeight, x_[i], y_[i], escaped(node.uplink));
    }
    const char* fill = node.kind == NodeKind::kGpu        ? "#c7e9c0"
                       : node.kind == NodeKind::kNic      ? "#fdd0a2"
                       : node.kind == NodeKind::kNvSwitch ? "#dadaeb"
                       : node.kind == NodeKind::kNuma     ? "#dbe4ee"
                                                          : "#ffffff";
    const std::string label = node.kind == NodeKind::kPciSwitch ? "PCIe switch" : t_.label(i);
    std::string second = node.pci ? toString(*node.pci) : "";
    if (node.kind == NodeKind::kNuma && !node.cpus.empty()) second = "CPUs " + node.cpus;
    boxes_ += fmt::format(
        "<g><title>{6}</title><rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" "
        "height=\"{3:.1f}\" rx=\"5\" "
        "fill=\"{4}\" stroke=\"#7a8793\"/>\n<text x=\"{5:.1f}\" y=\"{7:.1f}\" "
        "text-anchor=\"middle\">{8}</text>"
        "<text x=\"{5:.1f}\" y=\"{9:.1f}\" text-anchor=\"middle\" font-size=\"10\" "
        "fill=\"#5a6672\">{10}</text></g>\n",
        x_[i] - kBoxWidth / 2, y_[i], kBoxWidth, kBoxHeight, fill, x_[i], escaped(titleOf(i)),
        y_[i] + 17, escaped(cutToWidth(label, 15, {})), y_[i] + 32,
        escaped(cutToWidth(second, 17, {})));
  }

  std::string titleOf(NodeIndex i) const {
    const Node& node = t_.nodes[i];
    std::string text = t_.label(i);
    for (const std::string& part : {node.name == text ? "" : node.name, node.vendor, node.uplink,
                                    node.cpus.empty() ? "" : "CPUs " + node.cpus}) {
      if (!part.empty()) text += ", " + part;
    }
    return text;
  }

  const Topology& t_;
  std::vector<std::vector<NodeIndex>> children_;
  std::vector<double> x_, y_;  // of the middle of the upper edge
  int deepest_ = 0;            // switches above a device
  double next_column_ = 0;
  double bottom_ = 0;
  std::string below_, lines_, boxes_;
};

}  // namespace

std::string asSvg(const Topology& topology) { return TopologyDrawing(topology).draw(); }

}  // namespace tracesmith::topology
