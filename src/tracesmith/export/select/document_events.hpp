// SPDX-License-Identifier: Apache-2.0
// Events of an imported document that are rows of no table (counters, whose values are the rows;
// halves of async spans; names): which of them an export takes is asked of what was kept of them.
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

/// One thread at a time. What is given to it must outlive it.
class LooseEvents {
 public:
  /// `known` has the trace's strings and metadata.
  LooseEvents(const Trace& known, const Selection& selection, const RowChoice& choice)
      : known_(known), selection_(selection), choice_(choice) {}

  /// Whether the event with this shape and these kept values is taken: one with a time within the
  /// selection and a name that matches (of a counter, a track's). What names processes and threads,
  /// rows of a database's dictionaries, and what has no time that can be read, always are. None is
  /// work of a stream.
  bool take(StringId id, const SourceShape& shape, std::span<const int64_t> kept);

 private:
  static constexpr size_t kNowhere = ~size_t{0};
  /// Where what is asked stands in events of one shape.
  struct Places {
    char phase = 0;  // of "ph"; 0: it has none
    size_t time = kNowhere;
    size_t name = kNowhere;
    SourceGap time_kind{};
    SourceGap name_kind{};
    std::vector<std::string> arguments;  // keys of "args"
    bool whole = false;                  // one value, which is all of the event
  };
  struct Facts {
    char phase = 0;
    bool timed = false;
    int64_t time_ns = 0;
    std::string_view name;
    const std::vector<std::string>* arguments = nullptr;
  };

  const Places& placesOf(StringId id, const SourceShape& shape);
  bool wanted(const Facts& facts) const;
  bool matches(const Facts& facts) const;
  /// The facts of an event that was kept as the text that it was.
  bool takeWhole(std::string_view event) const;
  int64_t timeOf(SourceGap kind, int64_t value) const;
  std::string_view textAt(int64_t value) const { return known_.text(static_cast<StringId>(value)); }
  int64_t unitNs() const;

  const Trace& known_;
  const Selection& selection_;
  const RowChoice& choice_;
  std::unordered_map<StringId, Places> places_;
};

}  // namespace tracesmith
