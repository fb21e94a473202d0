// SPDX-License-Identifier: Apache-2.0
// What of an event the columns of its row hold, and how the rest is kept beside it, so that the
// document can be given back (model/source_rows.hpp). Decided once for each shape of events.
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

/// What a shape of events becomes.
struct ChromePlan {
  bool known = false;
  bool by_value = false;              ///< its rows' table depends on their values
  TableId table = SourceRows::kNone;  ///< of its rows
  ChromeKind kind{};
  StringId category{};
  std::vector<SourceGap> gaps;  ///< of its values, those of the row's columns included
  uint32_t beside_row = 0;      ///< source shape: with the row's columns
  uint32_t alone = 0;           ///< source shape: without
};

class ChromeSources {
 public:
  /// Strings go to `delta`. `unit_ns`: of the times of events.
  ChromeSources(Trace& delta, ChromeDialect dialect, int64_t unit_ns)
      : delta_(delta), dialect_(dialect), unit_ns_(unit_ns) {}

  /// Valid until the next call.
  ChromePlan& plan(const ChromeEvent& event);
  /// Keeps what the row of `table` that has just been pushed (kNone: there is none) does not hold;
  /// of the second end of an event all of it, as the row was made from the first one.
  void keep(const ChromeEvent& event, ChromePlan& plan, TableId table, bool second_end = false);

  /// The same for a row that no event of the source stands for by itself.
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
  ChromePlan unknown_;  // of the last event whose shape is not kept
  uint32_t whole_ = 0;  // source shape of those
  std::string room_;
};

}  // namespace tracesmith::import
