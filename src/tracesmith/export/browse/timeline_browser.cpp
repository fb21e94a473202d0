// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/timeline_browser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/base/human_units.hpp"

namespace tracesmith {
namespace {

constexpr double kZoomStep = 2;

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Whether a name contains the searched text; each distinct name is examined once.
class NameSearch {
 public:
  NameSearch(const Trace& trace, const std::string& text) : trace_(trace), text_(lowered(text)) {}

  bool operator()(const DeviceSpan& span) {
    const std::string_view name = eventName(trace_, span.table, span.row);
    if (name.empty()) return false;
    const auto [at, added] = known_.try_emplace(name.data(), false);
    if (added) {
      at->second = lowered(name).find(text_) != std::string::npos ||
                   (span.table == TableId::kKernel &&
                    lowered(readKernelName(name).short_name).find(text_) != std::string::npos);
    }
    return at->second;
  }

 private:
  const Trace& trace_;
  std::string text_;
  std::unordered_map<const char*, bool> known_;  // names are interned: equal ones share an address
};

}  // namespace

TimelineBrowser::TimelineBrowser(const Trace& trace, TimelineRows rows)
    : trace_(trace),
      rows_(std::move(rows)),
      begin_ns_(rows_.begin_ns),
      end_ns_(rows_.end_ns),
      folded_(rows_.groups, false) {
  showRows();
}

void TimelineBrowser::resize(size_t lines, size_t cells) {
  lines_ = std::max<size_t>(lines, 1);
  cells_ = std::max<size_t>(cells, 1);
  if (!sized_ && unfolded_.size() > lines_) {
    // Device work comes first; the threads of the host are one key away.
    for (const TimelineRow& row : rows_.rows) {
      if (!row.heading && !row.on_device) folded_[row.group] = true;
    }
    showRows();
  }
  if (!sized_ && unfolded_.size() > 1 && rows_.rows[unfolded_[0]].heading) current_ = 1;
  sized_ = true;
  keepVisible();
}

int64_t TimelineBrowser::cellBegin(size_t cell) const {
  const auto length = static_cast<__int128>(lengthOf(begin_ns_, end_ns_));
  return begin_ns_ +
         static_cast<int64_t>(length * static_cast<__int128>(cell) / static_cast<__int128>(cells_));
}

void TimelineBrowser::apply(BrowserCommand command) {
  using C = BrowserCommand;
  message_.clear();
  const int64_t length = lengthOf(begin_ns_, end_ns_);
  const size_t last = unfolded_.empty() ? 0 : unfolded_.size() - 1;
  switch (command) {
    case C::kPanLeft:
      return move(begin_ns_ - std::max<int64_t>(length / 4, 1), length);
    case C::kPanRight:
      return move(begin_ns_ + std::max<int64_t>(length / 4, 1), length);
    case C::kZoomIn:
    case C::kZoomOut: {
      int64_t around = begin_ns_ + length / 2;
      if (selection_) {
        const Interval at = selectedInterval();
        const int64_t middle = at.begin_ns + lengthOf(at.begin_ns, at.end_ns) / 2;
        if (middle >= begin_ns_ && middle < end_ns_) around = middle;
      }
      return zoom(command == C::kZoomIn ? 1 / kZoomStep : kZoomStep, around);
    }
    case C::kShowAll:
      return move(rows_.begin_ns, lengthOf(rows_.begin_ns, rows_.end_ns));
    case C::kZoomToSelection:
      return zoomToSelection();
    case C::kRowUp:
      return goToLine(current_ == 0 ? 0 : current_ - 1);
    case C::kRowDown:
      return goToLine(current_ + 1);
    case C::kPageUp:
      return goToLine(current_ < lines_ ? 0 : current_ - lines_);
    case C::kPageDown:
      return goToLine(current_ + lines_);
    case C::kFirstRow:
      return goToLine(0);
    case C::kLastRow:
      return goToLine(last);
    case C::kNextItem:
    case C::kPreviousItem:
      return step(command == C::kNextItem);
    case C::kLongest:
      return selectLongest();
    case C::kLargestGap:
      return selectLargestGap();
    case C::kNextMatch:
    case C::kPreviousMatch:
      return match(command == C::kNextMatch);
    case C::kFold:
      if (!unfolded_.empty()) fold(rows_.rows[currentRow()].group);
      return;
    case C::kFoldAll:
      return foldAll();
    case C::kUnselect:
      selection_.reset();
      return;
  }
}

void TimelineBrowser::zoomToSelection() {
  if (!selection_) {
    message_ = "nothing is selected";
    return;
  }
  const Interval at = selectedInterval();
  const int64_t item = std::max<int64_t>(lengthOf(at.begin_ns, at.end_ns), 1);
  move(at.begin_ns - item / 4, endOf(item, item / 2));
}

/// Folds all groups if any is open; else unfolds them.
void TimelineBrowser::foldAll() {
  const bool any_open = std::find(folded_.begin(), folded_.end(), false) != folded_.end();
  std::fill(folded_.begin(), folded_.end(), any_open);
  selection_.reset();
  showRows();
  goToLine(0);
}

void TimelineBrowser::zoomAt(size_t cell, bool in) {
  zoom(in ? 1 / kZoomStep : kZoomStep, cellBegin(std::min(cell, cells_)));
}

void TimelineBrowser::click(size_t line, size_t cell) {
  message_.clear();
  if (top_ + line >= unfolded_.size()) return;
  goToLine(top_ + line);
  const TimelineRow& row = rows_.rows[currentRow()];
  if (row.heading) return fold(row.group);
  if (cell >= cells_) return;
  const int64_t begin = cellBegin(cell);
  const int64_t end = std::max(cellBegin(cell + 1), begin + 1);
  const auto [first, last] = row.lane.within(begin, end);
  if (first < last) {
    const auto longer = [](const DeviceSpan& a, const DeviceSpan& b) {
      return lengthOf(a.begin_ns, a.end_ns) < lengthOf(b.begin_ns, b.end_ns);
    };
    const auto& items = row.lane.items();
    const auto at = std::max_element(items.begin() + static_cast<ptrdiff_t>(first),
                                     items.begin() + static_cast<ptrdiff_t>(last), longer);
    selection_ = {currentRow(), static_cast<size_t>(at - items.begin())};
    return;
  }
  const auto& busy = row.busy.intervals();
  const auto after = std::partition_point(busy.begin(), busy.end(),
                                          [&](const Interval& i) { return i.end_ns <= begin; });
  if (after == busy.begin() || after == busy.end() || after->begin_ns <= begin) {
    selection_.reset();
  } else {
    selection_ = {currentRow(), static_cast<size_t>(after - busy.begin()) - 1, true};
  }
}

void TimelineBrowser::search(const std::string& text) {
  message_.clear();
  matches_.clear();
  searched_ = text;
  if (text.empty()) return;
  NameSearch matching(trace_, text);
  for (size_t r = 0; r < rows_.rows.size(); ++r) {
    const auto& items = rows_.rows[r].lane.items();
    for (size_t i = 0; i < items.size(); ++i) {
      if (matching(items[i])) {
        matches_.push_back({items[i].begin_ns, static_cast<uint32_t>(r), static_cast<uint32_t>(i)});
      }
    }
  }
  std::sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) {
    return std::tie(a.begin_ns, a.row, a.index) < std::tie(b.begin_ns, b.row, b.index);
  });
  if (matches_.empty()) {
    message_ = fmt::format("no event has \"{}\" in its name", text);
    return;
  }
  const auto first = std::partition_point(matches_.begin(), matches_.end(),
                                          [&](const Match& m) { return m.begin_ns < begin_ns_; });
  // One before it, because match() goes to the next one.
  match_ = static_cast<size_t>(first - matches_.begin()) + matches_.size() - 1;
  match_ %= matches_.size();
  match(true);
}

void TimelineBrowser::match(bool forward) {
  if (matches_.empty()) {
    message_ = searched_.empty() ? "nothing was searched yet; / starts a search"
                                 : fmt::format("no event has \"{}\" in its name", searched_);
    return;
  }
  match_ = (match_ + (forward ? 1 : matches_.size() - 1)) % matches_.size();
  const Match& m = matches_[match_];
  select({m.row, m.index});
  message_ = fmt::format("match {} of {}", formatCount(match_ + 1), formatCount(matches_.size()));
}

Interval TimelineBrowser::selectedInterval() const {
  if (!selection_) return {};
  const TimelineRow& row = rows_.rows[selection_->row];
  if (selection_->is_gap) {
    const auto& busy = row.busy.intervals();
    return {busy[selection_->index].end_ns, busy[selection_->index + 1].begin_ns};
  }
  const DeviceSpan item = row.lane.items()[selection_->index];
  return {item.begin_ns, item.end_ns};
}

/// Stays within the trace, and at least one ns per cell, below which nothing can be told apart.
void TimelineBrowser::move(int64_t begin_ns, int64_t length_ns) {
  const int64_t whole = lengthOf(rows_.begin_ns, rows_.end_ns);
  const int64_t shortest = std::min<int64_t>(static_cast<int64_t>(cells_), whole);
  const int64_t length = std::clamp(length_ns, shortest, whole);
  begin_ns_ = std::clamp(begin_ns, rows_.begin_ns, rows_.end_ns - length);
  end_ns_ = begin_ns_ + length;
}

void TimelineBrowser::zoom(double factor, int64_t around_ns) {
  message_.clear();
  const auto length = static_cast<double>(lengthOf(begin_ns_, end_ns_));
  const auto whole = static_cast<double>(lengthOf(rows_.begin_ns, rows_.end_ns));
  const double wanted =
      std::clamp(length * factor, std::min<double>(static_cast<double>(cells_), whole), whole);
  const double share = static_cast<double>(around_ns - begin_ns_) / std::max(length, 1.0);
  move(around_ns - static_cast<int64_t>(std::llround(share * wanted)),
       static_cast<int64_t>(std::llround(wanted)));
}

void TimelineBrowser::showRows() {
  unfolded_.clear();
  for (size_t i = 0; i < rows_.rows.size(); ++i) {
    const TimelineRow& row = rows_.rows[i];
    if (row.heading || !folded_[row.group]) unfolded_.push_back(i);
  }
}

void TimelineBrowser::fold(size_t group) {
  folded_[group] = !folded_[group];
  if (selection_ && rows_.rows[selection_->row].group == group) selection_.reset();
  showRows();
  for (size_t i = 0; i < unfolded_.size(); ++i) {
    const TimelineRow& row = rows_.rows[unfolded_[i]];
    if (row.heading && row.group == group) current_ = i;
  }
  keepVisible();
}

void TimelineBrowser::goToLine(size_t line) {
  if (unfolded_.empty()) return;
  current_ = std::min(line, unfolded_.size() - 1);
  keepVisible();
}

void TimelineBrowser::keepVisible() {
  if (unfolded_.empty()) return;
  current_ = std::min(current_, unfolded_.size() - 1);
  if (current_ < top_) top_ = current_;
  if (current_ >= top_ + lines_) top_ = current_ - lines_ + 1;
  top_ = std::min(top_, unfolded_.size() > lines_ ? unfolded_.size() - lines_ : 0);
}

void TimelineBrowser::step(bool forward) {
  if (unfolded_.empty() || rows_.rows[currentRow()].heading) {
    message_ = "choose a row with the arrow keys first";
    return;
  }
  const TimelineRow& row = rows_.rows[currentRow()];
  const auto& items = row.lane.items();
  if (!selection_ || selection_->row != currentRow()) {
    const auto [first, last] = row.lane.within(begin_ns_, end_ns_);
    const size_t at = forward ? first : (last == 0 ? 0 : last - 1);
    return select({currentRow(), std::min(at, items.size() - 1)});
  }
  size_t next = selection_->index;
  if (selection_->is_gap) {
    const Interval gap = selectedInterval();
    const auto [first, last] = row.lane.within(gap.begin_ns, gap.end_ns);
    next = forward ? last : first;
    if (!forward && next == 0) return;
    if (!forward) --next;
  } else if (forward) {
    ++next;
  } else if (next-- == 0) {
    message_ = "this is the first operation of the row";
    return;
  }
  if (next >= items.size()) {
    message_ = "this is the last operation of the row";
    return;
  }
  select({currentRow(), next});
}

void TimelineBrowser::selectLongest() {
  if (unfolded_.empty() || rows_.rows[currentRow()].heading) {
    message_ = "choose a row with the arrow keys first";
    return;
  }
  const auto& items = rows_.rows[currentRow()].lane.items();
  const auto longest =
      std::max_element(items.begin(), items.end(), [](const DeviceSpan& a, const DeviceSpan& b) {
        return lengthOf(a.begin_ns, a.end_ns) < lengthOf(b.begin_ns, b.end_ns);
      });
  select({currentRow(), static_cast<size_t>(longest - items.begin())});
  message_ = "the longest operation of the row";
}

void TimelineBrowser::selectLargestGap() {
  size_t row = currentRow();
  while (row > 0 && !rows_.rows[row].heading && !rows_.rows[row].first_lane) --row;
  if (rows_.rows.empty() || rows_.rows[row].busy.intervals().size() < 2) {
    message_ = "this row has no gaps; choose a stream with several operations";
    return;
  }
  const auto& busy = rows_.rows[row].busy.intervals();
  size_t largest = 0;
  const auto gap = [&](size_t i) { return lengthOf(busy[i].end_ns, busy[i + 1].begin_ns); };
  for (size_t i = 0; i + 1 < busy.size(); ++i) {
    if (gap(i) > gap(largest)) largest = i;
  }
  select({row, largest, true});
  message_ = "the largest gap of the stream";
}

void TimelineBrowser::select(TimelineSelection selection) {
  selection_ = selection;
  const size_t group = rows_.rows[selection.row].group;
  if (folded_[group]) {
    folded_[group] = false;
    showRows();
  }
  current_ = static_cast<size_t>(
      std::lower_bound(unfolded_.begin(), unfolded_.end(), selection.row) - unfolded_.begin());
  keepVisible();
  reveal();
}

/// Moves the window so that the selection is in it: centred if it was outside.
void TimelineBrowser::reveal() {
  const Interval at = selectedInterval();
  if (at.end_ns > begin_ns_ && at.begin_ns < end_ns_) return;
  const int64_t length = lengthOf(begin_ns_, end_ns_);
  const int64_t half = lengthOf(at.begin_ns, at.end_ns) / 2;
  move(at.begin_ns + std::min(half, length) - length / 2, length);
}

}  // namespace tracesmith
