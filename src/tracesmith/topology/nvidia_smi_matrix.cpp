// SPDX-License-Identifier: Apache-2.0
// The table of `nvidia-smi topo -m`: a row and a column per GPU and adapter, and how they reach
// each other. There is no tree in it.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <sstream>

#include "tracesmith/topology/topology_builder.hpp"
#include "tracesmith/topology/topology_readers.hpp"

namespace tracesmith::topology {
namespace {

/// Without the sequences that underline the heading on a terminal.
std::string withoutEscapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      while (i < text.size() && !(text[i] >= '@' && text[i] <= '~' && text[i] != '[')) ++i;
    } else if (text[i] != '\r') {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> wordsOf(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<int32_t> numbered(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  word.remove_prefix(prefix.size());
  int32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

class MatrixReader {
 public:
  Result<Topology> read(std::string_view text) {
    std::istringstream lines(withoutEscapes(text));
    std::map<std::pair<NodeIndex, NodeIndex>, std::string> cells;
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = wordsOf(line);
      if (words.empty()) continue;
      if (columns_.empty()) {
        heading(words);
      } else if (const auto row = rows_.find(words[0]); row != rows_.end()) {
        if (words.size() < columns_.size() + 1) {
          return fail(ErrorCode::kDamaged,
                      fmt::format("the row of {} has {} cells, and the heading {}", words[0],
                                  words.size() - 1, columns_.size()));
        }
        for (size_t i = 0; i < columns_.size(); ++i)
          cells[{row->second, columns_[i]}] = words[i + 1];
        if (builder_[row->second].kind == NodeKind::kGpu) affinity(row->second, words);
      } else if (words.size() == 2 && words[0].ends_with(':')) {  // "NIC0: mlx5_0"
        const auto named = rows_.find(words[0].substr(0, words[0].size() - 1));
        if (named != rows_.end()) builder_[named->second].name = words[1];
      }
    }
    if (columns_.empty()) {
      return fail(ErrorCode::kDamaged,
                  "is no topology: it is neither XML nor has it a heading with GPUs, as "
                  "`nvidia-smi topo -m` prints it");
    }
    for (const auto& [pair, cell] : cells) this->cell(pair.first, pair.second, cell);
    for (const NodeIndex a : columns_) {
      for (const NodeIndex b : columns_) {
        if (!cells.contains({a, b})) {
          builder_.problem(fmt::format("the row of {} is missing", builder_.topology().label(a)));
          break;
        }
      }
    }
    return builder_.finish();
  }

 private:
  void heading(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const auto gpu = numbered(word, "GPU");
      auto nic = numbered(word, "NIC");
      // Older versions have the adapter's own name in the heading.
      const bool is_named = !gpu && !nic && word.starts_with("mlx");
      if (!gpu && !nic && !is_named) break;  // "CPU Affinity"
      const NodeIndex node =
          builder_.add(gpu ? NodeKind::kGpu : NodeKind::kNic, builder_.machine());
      builder_[node].number = gpu ? *gpu : nic.value_or(-1);
      if (is_named) builder_[node].name = word;
      if (gpu) builder_[node].vendor = "NVIDIA";
      if (!rows_.emplace(word, node).second)
        builder_.problem(fmt::format("{} is there twice", word));
      columns_.push_back(node);
    }
  }

  /// "0-23,48-71  0  N/A" after the cells.
  void affinity(NodeIndex gpu, const std::vector<std::string>& words) {
    const size_t at = columns_.size() + 1;
    if (words.size() < at + 2) return;
    int32_t number = -1;
    const std::string& text = words[at + 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return;
    auto it = numa_.find(number);
    if (it == numa_.end()) {
      const NodeIndex node = builder_.add(NodeKind::kNuma, builder_.machine());
      builder_[node].number = number;
      builder_[node].cpus = words[at];
      it = numa_.emplace(number, node).first;
    }
    builder_[gpu].parent = it->second;
  }

  void cell(NodeIndex a, NodeIndex b, const std::string& text) {
    if (a == b) return;
    if (const auto links = numbered(text, "NV")) {
      if (*links == 0 || *links > 1024) {
        return builder_.problem(fmt::format("{} and {}: {} is no number of links",
                                            builder_.topology().label(a),
                                            builder_.topology().label(b), text));
      }
      builder_.addLink(a, b, LinkType::kNvLink, static_cast<uint32_t>(*links), 0);
      return;
    }
    const auto path = pathClass(text);
    if (!path || *path < PathClass::kPix || *path > PathClass::kSys) {
      return builder_.problem(fmt::format("{} and {}: '{}' is no kind of connection",
                                          builder_.topology().label(a),
                                          builder_.topology().label(b), text));
    }
    builder_.topology().stated_paths.push_back({a, b, *path});
  }

  TopologyBuilder builder_{"nvidia-smi topo -m"};
  std::vector<NodeIndex> columns_;
  std::map<std::string, NodeIndex, std::less<>> rows_;
  std::map<int32_t, NodeIndex> numa_;
};

}  // namespace

Result<Topology> readNvidiaSmiMatrix(std::string_view text) { return MatrixReader().read(text); }

}  // namespace tracesmith::topology
