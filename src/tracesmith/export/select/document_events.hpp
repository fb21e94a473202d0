// SPDX-License-Identifier: Apache-2.0
// Selects events of an imported document that are in no table, by their kept sources. These are
// counter events (whose values are the rows), halves of async spans, and names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/model/source_rows.hpp"

namespace tracesmith {

/// Not thread-safe. The constructor's arguments must outlive this object.
class DocumentEvents {
 public:
  /// `known` must have the trace's strings and metadata.
  DocumentEvents(const Trace& known, const Selection& selection, const RowChoice& choice)
      : known_(known), selection_(selection), choice_(choice) {}

  /// Whether to export the event with this shape and these kept values. Selects events with a time
  /// within the selection and a matching name (for a counter: that of one of its tracks). Always
  /// selects names of processes and threads, rows of a database's lookup tables, and events without
  /// a readable time. None of these events is work of a stream.
  bool take(StringId id, const SourceShape& shape, std::span<const int64_t> kept);

 private:
  static constexpr size_t kNowhere = ~size_t{0};
  /// Positions of the relevant values in events of one shape.
  struct ValuePositions {
    char phase = 0;  // from "ph"; 0: none
    size_t time = kNowhere;
    size_t name = kNowhere;
    SourceGap time_kind{};
    SourceGap name_kind{};
    std::vector<std::string> arguments;  // keys of "args"
    bool whole = false;                  // the only value is the whole event as text
  };
  struct Facts {
    char phase = 0;
    bool timed = false;
    int64_t time_ns = 0;
    std::string_view name;
    const std::vector<std::string>* arguments = nullptr;
  };

  const ValuePositions& positionsOf(StringId id, const SourceShape& shape);
  bool isWanted(const Facts& facts) const;
  bool matches(const Facts& facts) const;
  /// The same for an event that was kept as text.
  bool takeText(std::string_view event) const;
  int64_t timeOf(SourceGap kind, int64_t value) const;
  std::string_view textAt(int64_t value) const { return known_.text(static_cast<StringId>(value)); }
  int64_t unitNs() const;

  const Trace& known_;
  const Selection& selection_;
  const RowChoice& choice_;
  std::unordered_map<StringId, ValuePositions> positions_;
};

}  // namespace tracesmith
