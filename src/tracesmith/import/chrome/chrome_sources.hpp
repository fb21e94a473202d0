// SPDX-License-Identifier: Apache-2.0
// Decides which values of an event the columns of its row hold, and keeps the rest beside the row,
// so that the document can be restored (model/source_rows.hpp). The decision is made once per event
// shape.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/common/event_categories.hpp"
#include "tracesmith/import/json/event_shapes.hpp"
#include "tracesmith/model/source_rows.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

/// How events of one shape are stored.
struct ChromePlan {
  bool known = false;
  bool by_value = false;              ///< the table depends on the values of each event
  TableId table = SourceRows::kNone;  ///< table of its rows
  ChromeKind kind{};
  StringId category{};
  std::vector<SourceGap> gaps;  ///< one per value, including values held by columns
  uint32_t beside_row = 0;      ///< source shape for events with a row
  uint32_t alone = 0;           ///< source shape for events without a row
};

class ChromeSources {
 public:
  /// Strings go to `delta`. `unit_ns`: unit of the events' times.
  ChromeSources(Trace& delta, ChromeDialect dialect, int64_t unit_ns)
      : delta_(delta), dialect_(dialect), unit_ns_(unit_ns) {}

  /// The plan for `event`; valid until the next call.
  ChromePlan& plan(const ChromeEvent& event);
  /// Keeps those values of `event` that the row just pushed to `table` does not hold (kNone: there
  /// is no row). For an end event (`second_end`) it keeps all values, because the row was created
  /// from the start event.
  void keep(const ChromeEvent& event, ChromePlan& plan, TableId table, bool second_end = false);

  /// The same for a row that does not correspond to one event of the source.
  void keepNone(TableId table);

  const SourceRows& rows() const { return rows_; }
  SourceRows& rows() { return rows_; }
  size_t values() const { return values_; }  ///< kept since clearRows()
  void clearRows();

 private:
  void make(ChromePlan& plan, const EventShape& shape, TableId table);
  bool isByValue(const EventShape& shape) const;
  SourceGap gapOf(const ShapeValue& value, TableId table) const;
  uint32_t sourceShape(const EventShape& shape, const std::vector<SourceGap>& gaps);
  uint32_t wholeShape();
  bool holds(const ChromeEvent& event, const ChromePlan& plan) const;
  StringId whole(const ChromeEvent& event);

  Trace& delta_;
  ChromeDialect dialect_;
  int64_t unit_ns_;
  SourceRows rows_;
  size_t values_ = 0;
  std::vector<ChromePlan> plans_;  // by shape
  std::map<std::pair<uint32_t, TableId>, ChromePlan> plans_by_value_;
  ChromePlan unknown_;  // plan of the last event whose shape is not kept
  uint32_t whole_ = 0;  // source shape for events whose shape is not kept
  std::string room_;
};

}  // namespace tracesmith::import
