// SPDX-License-Identifier: Apache-2.0
// The state of the interactive timeline: the window of time, the visible rows, the selection and
// the search. Knows no terminal; timeline_screen.hpp draws it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/export/browse/timeline_rows.hpp"

namespace tracesmith {

enum class BrowserCommand : uint8_t {
  kPanLeft,
  kPanRight,
  kZoomIn,
  kZoomOut,
  kShowAll,
  kZoomToSelection,
  kRowUp,
  kRowDown,
  kPageUp,
  kPageDown,
  kFirstRow,
  kLastRow,
  kNextItem,
  kPreviousItem,
  kLongest,
  kLargestGap,
  kNextMatch,
  kPreviousMatch,
  kFold,
  kFoldAll,
  kUnselect,
};

/// An item of a row's lane, or a gap: the time after interval `index` of the row's CoveredTime.
struct TimelineSelection {
  size_t row = 0;
  size_t index = 0;
  bool is_gap = false;
  bool operator==(const TimelineSelection&) const = default;
};

class TimelineBrowser {
 public:
  /// `trace` must outlive the browser.
  TimelineBrowser(const Trace& trace, TimelineRows rows);

  /// The space for rows and for cells of time. Call it before anything else, and after a resize.
  void resize(size_t lines, size_t cells);
  void apply(BrowserCommand command);
  /// Zooms by one step around a cell.
  void zoomAt(size_t cell, bool in);
  /// Selects what is drawn in a cell: the longest item there, or the gap; or folds a heading.
  void click(size_t line, size_t cell);
  /// Finds events whose name, full or short, contains `text` without regard to case, and selects
  /// the first one at or after the start of the window.
  void search(const std::string& text);

  const Trace& trace() const { return trace_; }
  const TimelineRows& rows() const { return rows_; }
  int64_t beginNs() const { return begin_ns_; }
  int64_t endNs() const { return end_ns_; }
  size_t cells() const { return cells_; }
  /// Start of a cell; cellBegin(cells()) is the window's end.
  int64_t cellBegin(size_t cell) const;
  /// The rows that are not folded, and the part of them that fits.
  const std::vector<size_t>& unfolded() const { return unfolded_; }
  size_t top() const { return top_; }
  size_t lines() const { return lines_; }
  size_t currentRow() const { return unfolded_.empty() ? 0 : unfolded_[current_]; }
  bool isFolded(size_t group) const { return folded_[group]; }
  const std::optional<TimelineSelection>& selection() const { return selection_; }
  Interval selectedInterval() const;
  /// What the last command has to say, such as "no event has this name"; "" for nothing.
  const std::string& message() const { return message_; }

 private:
  void move(int64_t begin_ns, int64_t length_ns);
  void zoom(double factor, int64_t around_ns);
  void showRows();
  void goToLine(size_t line);
  void step(bool forward);
  void selectLongest();
  void selectLargestGap();
  void select(TimelineSelection selection);
  void reveal();
  void match(bool forward);
  void fold(size_t group);
  void foldAll();
  void zoomToSelection();
  void keepVisible();

  struct Match {
    int64_t begin_ns;
    uint32_t row, index;
  };

  const Trace& trace_;
  TimelineRows rows_;
  size_t lines_ = 1, cells_ = 1;
  int64_t begin_ns_, end_ns_;
  std::vector<bool> folded_;
  std::vector<size_t> unfolded_;
  size_t top_ = 0, current_ = 0;  // indices in unfolded_
  bool sized_ = false;
  std::optional<TimelineSelection> selection_;
  std::string searched_, message_;
  std::vector<Match> matches_;
  size_t match_ = 0;
};

}  // namespace tracesmith
