// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/timeline_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/text/terminal_timeline.hpp"

namespace tracesmith {
namespace {

using Look = ScreenPiece::Look;
constexpr int kShareSpace = 8;    // "100.0 %" and a space
constexpr size_t kNameCells = 3;  // an item this wide shows its name

std::string padded(std::string_view text, size_t columns, const TerminalStyle& style) {
  std::string out = cutToWidth(text, static_cast<int>(columns), style);
  const auto width = static_cast<size_t>(displayWidth(out));
  return out + std::string(columns > width ? columns - width : 0, ' ');
}

class ScreenDrawing {
 public:
  ScreenDrawing(const TimelineBrowser& browser, const TimelineDetails& details, ScreenSize size,
                const TerminalStyle& style)
      : browser_(browser),
        details_(details),
        size_(size),
        style_(style),
        layout_(layoutFor(size)) {}

  std::vector<ScreenLine> draw(const std::string& title, const std::string& prompt) {
    add(title + headText(), Look::kBold);
    axis();
    for (size_t i = 0; i < layout_.rows; ++i) {
      const size_t at = browser_.top() + i;
      if (at < browser_.unfolded().size()) {
        row(browser_.unfolded()[at]);
      } else {
        lines_.emplace_back();
      }
    }
    if (layout_.legend) legend();
    detailLines();
    add(!prompt.empty() ? prompt : statusText(), prompt.empty() ? Look::kDim : Look::kBold);
    lines_.resize(static_cast<size_t>(size_.lines));
    return std::move(lines_);
  }

 private:
  void add(std::string_view text, Look look) {
    lines_.push_back({{cutToWidth(text, size_.columns, style_), look}});
  }

  std::string headText() const {
    const int64_t begin = browser_.beginNs() - browser_.rows().zero_ns;
    return fmt::format(
        "  {} from {}",
        formatDuration(lengthOf(browser_.beginNs(), browser_.endNs()), style_.micro()),
        formatDuration(begin, style_.micro()));
  }

  void axis() {
    lines_.push_back({{std::string(layout_.label_columns + 1, ' '), Look::kPlain},
                      {timelineAxis(browser_.beginNs(), browser_.endNs(), browser_.rows().zero_ns,
                                    layout_.cells, style_),
                       Look::kDim}});
  }

  void row(size_t index) {
    const TimelineRow& row = browser_.rows().rows[index];
    const bool current = index == browser_.currentRow();
    const char* mark = current ? ">" : " ";
    if (row.heading) {
      const bool folded = browser_.isFolded(row.group);
      const std::string sign = style_.utf8 ? (folded ? "▸ " : "▾ ") : (folded ? "+ " : "- ");
      return add(mark + sign + printable(row.label), Look::kBold);
    }
    std::string label = row.first_lane ? printable(row.label) : "";
    constexpr std::string_view kWord = "stream ";
    if (layout_.label_columns < 12 && label.starts_with(kWord)) label.erase(0, kWord.size());
    ScreenLine line;
    line.push_back({padded(std::string(mark) + "  " + label, layout_.label_columns, style_),
                    current ? Look::kBold : Look::kPlain});
    line.push_back({style_.utf8 ? "│" : "|", Look::kDim});
    cells(index, row, line);
    line.push_back({style_.utf8 ? "│" : "|", Look::kDim});
    if (showsShares() && row.on_device && row.first_lane) {
      const int64_t length = lengthOf(browser_.beginNs(), browser_.endNs());
      const int64_t busy = row.busy.within(browser_.beginNs(), browser_.endNs());
      line.push_back({fmt::format("{:>{}}",
                                  formatPercent(static_cast<double>(busy) /
                                                static_cast<double>(std::max<int64_t>(length, 1))),
                                  kShareSpace - 1),
                      Look::kPlain});
    }
    lines_.push_back(std::move(line));
  }

  bool showsShares() const {
    return layout_.label_columns + layout_.cells + 2 + kShareSpace <=
           static_cast<size_t>(size_.columns) + 1;
  }

  /// From left to right: an item that spans several cells as a bar with its name, other cells with
  /// a height for the share of their time.
  void cells(size_t index, const TimelineRow& row, ScreenLine& line) const {
    const auto& items = row.lane.items();
    for (size_t c = 0; c < layout_.cells;) {
      const int64_t begin = browser_.cellBegin(c);
      const int64_t end = std::max(browser_.cellBegin(c + 1), begin + 1);
      const auto [first, last] = row.lane.within(begin, end);
      if (first == last) {
        line.push_back(gapCell(index, begin, end));
        ++c;
        continue;
      }
      const size_t until = last - first == 1 ? cellsCovered(items[first], c) : c;
      if (until >= c + kNameCells) {
        const bool selected = isSelected(index, first, first + 1);
        std::string name = padded(printable(details_.shortName(items[first])), until - c, style_);
        line.push_back({std::move(name), selected ? Look::kSelected : Look::kItem,
                        row.lane.kind(first), true});
        c = until;
      } else {
        line.push_back(shareCell(row.lane, begin, end, isSelected(index, first, last)));
        ++c;
      }
    }
  }

  /// The cell after the last one that `item` fills, if it is alone in them.
  size_t cellsCovered(const DeviceSpan& item, size_t cell) const {
    size_t low = cell;
    size_t high = layout_.cells;
    while (low < high) {
      const size_t middle = (low + high + 1) / 2;
      if (browser_.cellBegin(middle) <= item.end_ns) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  bool isSelected(size_t row, size_t first, size_t last) const {
    const auto& s = browser_.selection();
    return s && !s->is_gap && s->row == row && s->index >= first && s->index < last;
  }

  ScreenPiece gapCell(size_t row, int64_t begin, int64_t end) const {
    const auto& s = browser_.selection();
    if (s && s->is_gap && s->row == row) {
      const Interval gap = browser_.selectedInterval();
      if (gap.begin_ns < end && gap.end_ns > begin) {
        return {style_.utf8 ? "╌" : "~", Look::kSelected};
      }
    }
    return {" ", Look::kPlain};
  }

  ScreenPiece shareCell(const TimelineLane& lane, int64_t begin, int64_t end, bool selected) const {
    const TimelineLane::Times times = lane.timesWithin(begin, end);
    int64_t sum = 0;
    for (const int64_t ns : times) sum += ns;
    const auto most =
        static_cast<size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    const double share = static_cast<double>(sum) / static_cast<double>(end - begin);
    // An empty item has no time, but it is there.
    const std::string text = timelineBlock(std::max(share, 1e-9), style_);
    return {text, selected ? Look::kSelected : Look::kItem,
            sum > 0 ? static_cast<ItemKind>(most) : lane.kind(lane.within(begin, end).first)};
  }

  void legend() {
    ScreenLine line;
    int used = 0;
    for (const ItemKind kind : browser_.rows().kinds) {
      const auto name = std::string(toString(kind));
      const int width = static_cast<int>(name.size()) + 4;
      if (used + width > size_.columns) break;
      line.push_back({style_.utf8 ? "■" : "#", Look::kItem, kind});
      line.push_back({" " + name + "  ", Look::kDim});
      used += width;
    }
    lines_.push_back(std::move(line));
  }

  void detailLines() {
    const std::vector<TimelineDetail> all = details_.of(browser_, style_);
    for (size_t i = 0; i < layout_.detail_lines; ++i) {
      if (i < all.size()) {
        add(fmt::format("{:>14}  {}", all[i].label, all[i].value),
            i == 0 ? Look::kBold : Look::kPlain);
      } else if (all.empty() && i == 0) {
        add("Nothing is selected: . next operation, l longest, g largest gap, / search",
            Look::kDim);
      } else {
        lines_.emplace_back();
      }
    }
  }

  std::string statusText() const {
    if (!browser_.message().empty()) return browser_.message();
    std::string rest;
    const size_t all = browser_.unfolded().size();
    if (all > layout_.rows) {
      rest = fmt::format("rows {} to {} of {}; ", browser_.top() + 1,
                         std::min(all, browser_.top() + layout_.rows), all);
    }
    return rest + "? help  q quit  arrows move  + - zoom  / search  Enter details  f fold";
  }

  const TimelineBrowser& browser_;
  const TimelineDetails& details_;
  ScreenSize size_;
  const TerminalStyle& style_;
  ScreenLayout layout_;
  std::vector<ScreenLine> lines_;
};

constexpr std::pair<const char*, const char*> kHelpKeys[] = {
    {"Left Right, h", "move in time by a quarter of the screen"},
    {"+ -", "zoom in, out (around the selection, if visible)"},
    {"0, Home", "show the whole trace"},
    {"z", "zoom to the selection"},
    {"Up Down, k j", "choose a row; Page Up, Page Down: a screen of rows"},
    {". ,", "next, previous operation of the row (also Tab, Shift-Tab)"},
    {"l", "longest operation of the row"},
    {"g", "largest gap of the stream"},
    {"/", "search by name; Enter starts, Escape gives up"},
    {"n N", "next, previous match"},
    {"Enter", "all details of the selection, with the full name"},
    {"f", "fold or unfold the device or process; F: all of them"},
    {"Escape", "unselect"},
    {"mouse", "click selects or folds; the wheel zooms"},
    {"q", "quit"},
};

}  // namespace

ScreenLayout layoutFor(ScreenSize size) {
  ScreenLayout out;
  const int columns = std::max(size.columns, 1);
  const int lines = std::max(size.lines, 1);
  const int label = columns < 40 ? 8 : columns < 60 ? 12 : 24;
  const int shares = columns < 60 ? 0 : kShareSpace - 1;
  out.label_columns = static_cast<size_t>(label);
  out.cells = static_cast<size_t>(std::max(columns - label - 2 - shares, 1));
  out.legend = lines >= 12;
  out.detail_lines = lines >= 20 ? 6 : lines >= 12 ? 3 : lines >= 6 ? 1 : 0;
  const int around = 3 + static_cast<int>(out.detail_lines) + (out.legend ? 1 : 0);
  out.rows = static_cast<size_t>(std::max(lines - around, 1));
  return out;
}

std::vector<ScreenLine> drawTimelineScreen(const TimelineBrowser& browser,
                                           const TimelineDetails& details, ScreenSize size,
                                           const TerminalStyle& style, const std::string& title,
                                           const std::string& prompt) {
  return ScreenDrawing(browser, details, size, style).draw(title, prompt);
}

std::vector<ScreenLine> drawHelpScreen(ScreenSize size, const TerminalStyle& style) {
  std::vector<ScreenLine> out;
  const auto last = static_cast<size_t>(std::max(size.lines - 1, 0));
  for (const auto& [key, meaning] : kHelpKeys) {
    if (out.size() == last) break;
    out.push_back({{cutToWidth(fmt::format("{:>15}  {}", key, meaning), size.columns, style)}});
  }
  out.resize(last);
  out.push_back({{cutToWidth("any key: back", size.columns, style), Look::kDim}});
  return out;
}

std::vector<ScreenLine> drawDetailsScreen(const TimelineBrowser& browser,
                                          const TimelineDetails& details, ScreenSize size,
                                          const TerminalStyle& style) {
  std::vector<ScreenLine> out;
  const auto last = static_cast<size_t>(std::max(size.lines - 1, 0));
  const auto columns = static_cast<size_t>(std::max(size.columns, 1));
  for (const TimelineDetail& d : details.of(browser, style)) {
    std::string text = fmt::format("{:>14}  {}", d.label, d.value);
    while (!text.empty() && out.size() < last) {
      size_t cut = std::min(columns, text.size());
      while (cut > 0 && cut < text.size() &&
             (displayWidth(text.substr(0, cut)) > size.columns || (text[cut] & 0xC0) == 0x80)) {
        --cut;
      }
      cut = std::max<size_t>(cut, 1);
      out.push_back({{text.substr(0, cut), d.label == "kernel" ? Look::kBold : Look::kPlain}});
      text.erase(0, cut);
    }
  }
  if (out.empty()) out.push_back({{cutToWidth("nothing is selected", size.columns, style)}});
  out.resize(last);
  out.push_back({{cutToWidth("any key: back", size.columns, style), Look::kDim}});
  return out;
}

}  // namespace tracesmith
