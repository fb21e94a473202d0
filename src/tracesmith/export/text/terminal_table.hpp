// SPDX-License-Identifier: Apache-2.0
// Formats tables for terminals: aligned columns, right-aligned numbers, and optional colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracesmith {

/// Capabilities of the output terminal.
struct TerminalStyle {
  int width = 0;        ///< columns; 0: unlimited (not a terminal)
  bool colour = false;  ///< ANSI colours
  bool utf8 = true;     ///< non-ASCII characters allowed

  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  /// `code`: an SGR parameter, such as "32" for green.
  std::string paint(const char* code, std::string_view text) const;
  const char* micro() const { return utf8 ? "µs" : "us"; }
  const char* ellipsis() const { return utf8 ? "…" : "..."; }
};

/// Number of terminal columns that `text` (UTF-8) takes. Wide East Asian characters take two,
/// control characters none.
int displayWidth(std::string_view text);
/// Shortens `text` to at most `width` columns, with an ellipsis if it was cut.
std::string cutToWidth(std::string_view text, int width, const TerminalStyle& style);
/// The same, but cuts the middle, because function names differ at both ends.
std::string cutMiddle(std::string_view text, int width, const TerminalStyle& style);
/// Replaces control characters and bytes that are not UTF-8, so that a name in a trace cannot
/// control the terminal.
std::string printable(std::string_view text);

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
    bool may_shrink = false;   ///< may be cut if the terminal is too narrow
    bool from_middle = false;  ///< cut in the middle (cutMiddle())
    int spare = 0;  ///< above 0: may be dropped to keep names readable; highest value first
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  size_t size() const { return rows_.size(); }
  /// Returns the header and the rows, each line ending in '\n'. `left_out` receives the headers of
  /// dropped columns.
  std::string render(const TerminalStyle& style, std::string_view indent = "",
                     std::vector<std::string>* left_out = nullptr) const;

 private:
  std::vector<int> widthsFor(const TerminalStyle& style, std::string_view indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tracesmith
