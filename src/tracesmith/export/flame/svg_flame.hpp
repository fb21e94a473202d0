// SPDX-License-Identifier: Apache-2.0
// Draws a flame graph as an interactive SVG: a click zooms, Ctrl+F or "search" marks names, the
// pointer shows details. It is a single file with its own script and loads nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/output/output.hpp"

namespace tracesmith {

/// The tree of a flame graph. The root stands for everything.
class FlameTree {
 public:
  /// Adds a stack, outermost frame first.
  void add(const std::vector<std::string_view>& frames, uint64_t weight);

  struct Node {
    std::string name;
    uint64_t weight = 0;  ///< with all callees
    uint32_t parent = 0;
    uint32_t level = 0;
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Callees of each node, the heaviest first.
  std::vector<std::vector<uint32_t>> callees() const;

 private:
  std::vector<Node> nodes_ = {{"all", 0, 0, 0}};
  std::map<std::pair<uint32_t, std::string>, uint32_t> known_;
};

/// `title` is above the drawing. Weights are ns, or bytes. Boxes narrower than a tenth of a pixel
/// are left out.
void writeFlameSvg(const FlameTree& tree, std::string_view title, bool bytes, Output& out);

}  // namespace tracesmith
