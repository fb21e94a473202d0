// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/terminal_table.hpp"

#include <algorithm>
#include <cstdint>

namespace tracesmith {
namespace {

constexpr int kLeastShrunk = 12;   // minimum width of a shrunk column
constexpr int kEnoughToKnow = 28;  // minimum width before other columns are dropped
constexpr int kLeftOut = -1;

struct CodePoint {
  uint32_t value = 0;
  int bytes = 1;
  bool valid = false;
};

CodePoint decode(std::string_view text) {
  const auto b = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = b(0);
  if (first < 0x80) return {first, 1, true};
  const int n = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (n == 1 || first >= 0xf5 || text.size() < static_cast<size_t>(n)) return {};
  uint32_t v = first & (0xff >> (n + 1));
  for (int i = 1; i < n; ++i) {
    if ((b(static_cast<size_t>(i)) & 0xc0) != 0x80) return {};
    v = v << 6 | (b(static_cast<size_t>(i)) & 0x3f);
  }
  return {v, n, true};
}

int widthOf(uint32_t c) {
  if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return 0;
  if (c >= 0x300 && c < 0x370) return 0;  // combining marks
  const bool wide = (c >= 0x1100 && c < 0x1160) || (c >= 0x2e80 && c < 0xa4d0) ||
                    (c >= 0xac00 && c < 0xd7a4) || (c >= 0xf900 && c < 0xfb00) ||
                    (c >= 0xfe30 && c < 0xfe70) || (c >= 0xff00 && c < 0xff61) ||
                    (c >= 0x1f300 && c < 0x1fa00) || (c >= 0x20000 && c < 0x3fffe);
  return wide ? 2 : 1;
}

/// Controls of the direction of text, which can make a line read as another one.
bool turnsText(uint32_t c) { return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069); }

}  // namespace

std::string TerminalStyle::paint(const char* code, std::string_view text) const {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

int displayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    width += c.valid ? widthOf(c.value) : 1;
    text.remove_prefix(static_cast<size_t>(c.bytes));
  }
  return width;
}

std::string cutToWidth(std::string_view text, int width, const TerminalStyle& style) {
  if (displayWidth(text) <= width) return std::string(text);
  const int room = width - displayWidth(style.ellipsis());
  std::string out;
  int used = 0;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    const int w = c.valid ? widthOf(c.value) : 1;
    if (used + w > room) break;
    out += text.substr(0, static_cast<size_t>(c.bytes));
    used += w;
    text.remove_prefix(static_cast<size_t>(c.bytes));
  }
  return room < 0 ? std::string(text.substr(0, static_cast<size_t>(std::max(width, 0))))
                  : out + style.ellipsis();
}

std::string cutMiddle(std::string_view text, int width, const TerminalStyle& style) {
  if (displayWidth(text) <= width) return std::string(text);
  const int room = width - displayWidth(style.ellipsis());
  if (room < 2) return cutToWidth(text, width, style);
  // Give the front half first, because that is where reading starts, then fill the end.
  size_t front = 0;
  int used = 0;
  const auto widthAt = [&](size_t at, size_t& bytes) {
    const CodePoint c = decode(text.substr(at));
    bytes = static_cast<size_t>(c.bytes);
    return c.valid ? widthOf(c.value) : 1;
  };
  size_t bytes = 0;
  for (int w = widthAt(front, bytes); used + w <= (room * 2 + 2) / 3; w = widthAt(front, bytes)) {
    used += w;
    front += bytes;
  }
  int behind = displayWidth(text.substr(front));
  size_t back = front;
  while (used + behind > room) {
    behind -= widthAt(back, bytes);
    back += bytes;
  }
  return std::string(text.substr(0, front)) + style.ellipsis() + std::string(text.substr(back));
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    const std::string_view bytes = text.substr(0, static_cast<size_t>(c.bytes));
    if (!c.valid) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (c.value == '\t' || c.value == '\n' || c.value == '\r') {
      out += ' ';
    } else if (c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0) || turnsText(c.value)) {
      out += '?';
    } else {
      out += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return out;
}

std::vector<int> TextTable::widthsFor(const TerminalStyle& style, std::string_view indent) const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int w = displayWidth(columns_[c].header);
    for (const auto& row : rows_) {
      if (c < row.size()) w = std::max(w, displayWidth(row[c]));
    }
    widths.push_back(w);
  }
  if (style.width <= 0) return widths;
  int total = displayWidth(indent) - 2;
  int shrunk = total;  // total width with names of that minimum
  for (size_t c = 0; c < columns_.size(); ++c) {
    total += widths[c] + 2;
    shrunk += (columns_[c].may_shrink ? std::min(widths[c], kEnoughToKnow) : widths[c]) + 2;
  }
  while (shrunk > style.width) {
    size_t next = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      const bool can = columns_[c].spare > 0 && widths[c] != kLeftOut;
      if (can && (next == columns_.size() || columns_[c].spare > columns_[next].spare)) next = c;
    }
    if (next == columns_.size()) break;
    shrunk -= widths[next] + 2;
    total -= widths[next] + 2;
    widths[next] = kLeftOut;
  }
  // Shrink the widest column that may shrink first.
  while (total > style.width) {
    int widest = -1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const bool can = columns_[c].may_shrink && widths[c] > kLeastShrunk;
      if (can && (widest < 0 || widths[c] > widths[static_cast<size_t>(widest)])) {
        widest = static_cast<int>(c);
      }
    }
    if (widest < 0) break;
    --widths[static_cast<size_t>(widest)];
    --total;
  }
  return widths;
}

std::string TextTable::render(const TerminalStyle& style, std::string_view indent,
                              std::vector<std::string>* left_out) const {
  const std::vector<int> widths = widthsFor(style, indent);
  for (size_t c = 0; left_out != nullptr && c < columns_.size(); ++c) {
    if (widths[c] == kLeftOut) left_out->push_back(columns_[c].header);
  }
  std::string out;
  auto line = [&](auto&& cellOf, bool header) {
    std::string text(indent);
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == kLeftOut) continue;
      const std::string cell = columns_[c].from_middle ? cutMiddle(cellOf(c), widths[c], style)
                                                       : cutToWidth(cellOf(c), widths[c], style);
      const std::string pad(static_cast<size_t>(std::max(0, widths[c] - displayWidth(cell))), ' ');
      if (c > 0) text += "  ";
      text += columns_[c].align == Align::kRight ? pad + cell : cell + pad;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += (header ? style.bold(text) : text) + "\n";
  };
  line([&](size_t c) { return columns_[c].header; }, true);
  for (const auto& row : rows_) {
    line([&](size_t c) { return c < row.size() ? row[c] : std::string(); }, false);
  }
  return out;
}

}  // namespace tracesmith
