// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/flame/svg_flame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/xml_text.hpp"

namespace tracesmith {
namespace {

constexpr double kWidth = 1200;
constexpr double kNarrowest = 0.1;
constexpr int kRow = 18;
constexpr int kTop = 60;     // title and search
constexpr int kBottom = 30;  // details
constexpr double kLetter = 6.6;
constexpr std::array<const char*, 6> kColours = {"#f6b26b", "#f9cb9c", "#ffd966",
                                                 "#e99a6c", "#f4a582", "#fdc086"};

// The boxes have their position and width as shares of the whole (data-x, data-w), so that zooming
// only sets attributes. Names are read from <title>, which browsers show where scripts do not run.
constexpr std::string_view kScript = R"js(
const W = 1200, LETTER = 6.6, boxes = [...document.querySelectorAll('g.box')];
const details = document.getElementById('details'), back = document.getElementById('back');
const found = document.getElementById('found');
const nameOf = box => box.querySelector('title').textContent;
const num = (box, key) => Number(box.getAttribute(key));
function zoom(to) {
  const x0 = num(to, 'data-x'), w0 = num(to, 'data-w'), level = num(to, 'data-level');
  for (const box of boxes) {
    const x = num(box, 'data-x'), w = num(box, 'data-w'), above = num(box, 'data-level') < level;
    const around = above && x <= x0 + 1e-9 && x + w >= x0 + w0 - 1e-9;
    const inside = !above && x >= x0 - 1e-9 && x + w <= x0 + w0 + 1e-9;
    box.style.display = around || inside ? '' : 'none';
    if (!around && !inside) continue;
    place(box, around ? 0 : (x - x0) / w0 * W, around ? W : w / w0 * W);
    box.style.opacity = around ? 0.5 : 1;
  }
  back.style.display = level > 0 ? '' : 'none';
}
function place(box, x, w) {
  const rect = box.querySelector('rect'), text = box.querySelector('text');
  rect.setAttribute('x', x);
  rect.setAttribute('width', Math.max(0.1, w - 0.5));
  text.setAttribute('x', x + 3);
  const name = box.getAttribute('data-name'), fit = Math.floor((w - 6) / LETTER);
  text.textContent = fit < 3 ? '' : name.length <= fit ? name : name.slice(0, fit - 1) + '…';
}
function search(text) {
  let pattern = null;
  try {
    pattern = text ? new RegExp(text, 'i') : null;
  } catch (e) {
    found.textContent = 'not a pattern';
    return;
  }
  const spans = [];
  for (const box of boxes) {
    const hit = pattern !== null && pattern.test(box.getAttribute('data-name'));
    box.querySelector('rect').style.fill = hit ? '#b56be0' : '';
    if (hit) spans.push([num(box, 'data-x'), num(box, 'data-x') + num(box, 'data-w')]);
  }
  spans.sort((a, b) => a[0] - b[0]);
  let sum = 0, end = 0;
  for (const [from, to] of spans) {
    sum += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  found.textContent = pattern === null ? '' : text + ': ' + (100 * sum).toFixed(1) + ' %';
}
for (const box of boxes) {
  box.addEventListener('mouseover', () => { details.textContent = nameOf(box); });
  box.addEventListener('mouseout', () => { details.textContent = ''; });
  box.addEventListener('click', () => zoom(box));
}
const ask = () => {
  const text = prompt('Mark names that match (regular expression):');
  if (text !== null) search(text);
};
document.getElementById('search').addEventListener('click', ask);
back.addEventListener('click', () => zoom(boxes[0]));
window.addEventListener('keydown', e => {
  if (e.key === 'f' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); ask(); }
  if (e.key === 'Escape') zoom(boxes[0]);
});
)js";

/// The first `letters` characters of UTF-8 text.
std::string_view firstLetters(std::string_view text, size_t letters) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts && letters-- == 0) break;
  }
  return text.substr(0, at);
}

std::string labelFor(std::string_view name, double width) {
  const double letters = (width - 6) / kLetter;
  if (letters < 3) return "";
  const auto fit = static_cast<size_t>(letters);
  if (firstLetters(name, fit).size() == name.size()) return escapedXml(name);
  return escapedXml(firstLetters(name, fit - 1)) + "…";
}

class Drawing {
 public:
  Drawing(const FlameTree& tree, bool bytes, Output& out)
      : nodes_(tree.nodes()), callees_(tree.callees()), bytes_(bytes), out_(out) {}

  uint32_t levels() const {
    uint32_t deepest = 0;
    for (const FlameTree::Node& node : nodes_) deepest = std::max(deepest, node.level);
    return deepest + 1;
  }

  /// Boxes from the outside to the inside, each callee beside the one before it.
  void boxes() {
    if (nodes_[0].weight == 0) return;
    struct Next {
      uint32_t node;
      double x;  // share of the whole
    };
    std::vector<Next> next = {{0, 0}};
    while (!next.empty()) {
      const Next at = next.back();
      next.pop_back();
      double x = at.x;
      box(at.node, x);
      for (const uint32_t callee : callees_[at.node]) {
        if (shareOf(callee) * kWidth < kNarrowest) break;
        next.push_back({callee, x});
        x += shareOf(callee);
      }
    }
  }

 private:
  double shareOf(uint32_t node) const {
    return static_cast<double>(nodes_[node].weight) / static_cast<double>(nodes_[0].weight);
  }
  void box(uint32_t index, double x) {
    const FlameTree::Node& node = nodes_[index];
    const double share = shareOf(index);
    size_t colour = 0;  // the same name, the same colour
    for (const char c : node.name) colour += static_cast<unsigned char>(c);
    const int y = kTop + static_cast<int>(node.level) * kRow;
    const std::string weight =
        bytes_ ? formatBytes(node.weight) : formatDuration(static_cast<int64_t>(node.weight));
    out_.write(
        fmt::format("<g class=\"box\" data-x=\"{:.17g}\" data-w=\"{:.17g}\" data-level=\"{}\" "
                    "data-name=\"{}\"><title>{}: {} ({:.1f} %)</title>"
                    "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>"
                    "<text x=\"{:.2f}\" y=\"{}\">{}</text></g>\n",
                    x, share, node.level, escapedXml(node.name), escapedXml(node.name), weight,
                    share * 100, x * kWidth, y, std::max(kNarrowest, share * kWidth - 0.5),
                    kRow - 1, kColours[colour % kColours.size()], x * kWidth + 3, y + 13,
                    labelFor(node.name, share * kWidth)));
  }

  const std::vector<FlameTree::Node>& nodes_;
  std::vector<std::vector<uint32_t>> callees_;
  bool bytes_;
  Output& out_;
};

}  // namespace

void FlameTree::add(const std::vector<std::string_view>& frames, uint64_t weight) {
  uint32_t at = 0;
  nodes_[0].weight += weight;
  for (const std::string_view frame : frames) {
    const auto [it, fresh] =
        known_.try_emplace({at, std::string(frame)}, static_cast<uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({std::string(frame), 0, at, nodes_[at].level + 1});
    at = it->second;
    nodes_[at].weight += weight;
  }
}

std::vector<std::vector<uint32_t>> FlameTree::callees() const {
  std::vector<std::vector<uint32_t>> callees(nodes_.size());
  for (uint32_t i = 1; i < nodes_.size(); ++i) callees[nodes_[i].parent].push_back(i);
  for (std::vector<uint32_t>& of : callees) {
    std::stable_sort(of.begin(), of.end(),
                     [&](uint32_t a, uint32_t b) { return nodes_[a].weight > nodes_[b].weight; });
  }
  return callees;
}

void writeFlameSvg(const FlameTree& tree, std::string_view title, bool bytes, Output& out) {
  Drawing drawing(tree, bytes, out);
  const int height = kTop + static_cast<int>(drawing.levels()) * kRow + kBottom;
  out.write(fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\">\n<style>text {{ font: 11px monospace; pointer-events: none }} "
      ".box:hover rect {{ stroke: #333; cursor: pointer }} "
      "#title {{ font: bold 16px sans-serif }} .link {{ pointer-events: all; cursor: pointer; "
      "fill: #1155cc }}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text id=\"title\" x=\"{2}\" y=\"24\" text-anchor=\"middle\">{3}</text>\n"
      "<text id=\"back\" class=\"link\" x=\"3\" y=\"48\" style=\"display:none\">show all</text>\n"
      "<text id=\"search\" class=\"link\" x=\"{4}\" y=\"48\" text-anchor=\"end\">search</text>\n"
      "<text id=\"found\" x=\"{5}\" y=\"48\" text-anchor=\"end\"></text>\n"
      "<text id=\"details\" x=\"3\" y=\"{6}\"></text>\n",
      kWidth, height, kWidth / 2, escapedXml(title), kWidth - 3, kWidth - 60, height - 10));
  drawing.boxes();
  out.write("<script><![CDATA[");
  out.write(kScript);
  out.write("]]></script>\n</svg>\n");
}

}  // namespace tracesmith
