// SPDX-License-Identifier: Apache-2.0
// Tables for people: aligned columns, numbers to the right, colours where they are wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracesmith {

/// What a view may use of the place it is shown in.
struct TerminalStyle {
  int width = 0;        ///< columns; 0: as many as it takes (not a terminal)
  bool colour = false;  ///< ANSI colours
  bool utf8 = true;     ///< more than ASCII

  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  /// `code`: an SGR parameter, such as "32" for green.
  std::string paint(const char* code, std::string_view text) const;
  const char* micro() const { return utf8 ? "µs" : "us"; }
  const char* ellipsis() const { return utf8 ? "…" : "..."; }
};

/// Columns that `text` takes on a terminal (UTF-8; wide East Asian characters take two, control
/// characters none).
int displayWidth(std::string_view text);
/// `text` in at most `width` columns, with an ellipsis where it was cut.
std::string cutToWidth(std::string_view text, int width, const TerminalStyle& style);
/// The same, with the ellipsis in the middle: names of functions differ at both ends.
std::string cutMiddle(std::string_view text, int width, const TerminalStyle& style);
/// Control characters and bytes that are not UTF-8 made harmless, so that a name in a trace cannot
/// drive the terminal.
std::string printable(std::string_view text);

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
    bool may_shrink = false;   ///< may be cut when the terminal is too narrow
    bool from_middle = false;  ///< cut there
    int spare = 0;  ///< above 0: left out rather than that names get very short, the largest first
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  size_t size() const { return rows_.size(); }
  /// Lines with '\n' each; the header first. `left_out`: headers of the columns that are.
  std::string render(const TerminalStyle& style, std::string_view indent = "",
                     std::vector<std::string>* left_out = nullptr) const;

 private:
  std::vector<int> widthsFor(const TerminalStyle& style, std::string_view indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tracesmith
