// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/event_filter.hpp"

#include <algorithm>
#include <regex>
#include <unordered_map>

namespace tracesmith {
namespace {

/// std::regex recurses for each character, so a very long name could overflow the stack.
constexpr size_t kMatchedCharacters = 4096;

/// Backtracking takes exponential time for patterns such as (a+)+b. The GNU library can follow all
/// alternatives at once instead, but then does not support back references.
constexpr std::regex::flag_type kSyntax = std::regex::ECMAScript | std::regex::optimize
#ifdef __GLIBCXX__
                                          | std::regex_constants::__polynomial
#endif
    ;

}  // namespace

struct EventMatcher::Impl {
  const Trace& trace;
  std::vector<TableId> tables;
  bool only_streams;
  Selection selection;
  std::optional<std::regex> name;
  // Results by name; the keys point into the trace.
  std::unordered_map<std::string_view, bool> known;

  bool nameMatches(TableId table, size_t row) {
    if (!name) return true;
    const std::string_view text = eventName(trace, table, row);
    const auto [entry, is_new] = known.try_emplace(text, false);
    if (is_new) {
      const std::string_view head = text.substr(0, kMatchedCharacters);
      entry->second = std::regex_search(head.begin(), head.end(), *name);
    }
    return entry->second;
  }

  bool inStream(StreamId id) const {
    return !only_streams || (id != StreamId::kNone && selection.stream(id));
  }
  template <class Table>
  bool span(const Table& table, size_t row) const {
    return selection.span(table.start_ns[row], table.duration_ns[row]);
  }

  bool inTimeAndStream(TableId table, size_t row) const {
    auto both = [&](const auto& t) { return inStream(t.stream_id[row]) && span(t, row); };
    switch (table) {
      case TableId::kHostCall:
        return both(trace.host_call);
      case TableId::kKernel:
        return both(trace.kernel);
      case TableId::kCopy:
        return both(trace.copy);
      case TableId::kFill:
        return both(trace.fill);
      case TableId::kSync:
        return both(trace.sync);
      case TableId::kRange:
        return both(trace.range);
      case TableId::kProgramBuild:
        return !only_streams && span(trace.program_build, row);
      case TableId::kMemoryEvent:
        return !only_streams && selection.instant(trace.memory_event.time_ns[row]);
      default:
        return false;
    }
  }
};

std::vector<std::pair<std::string_view, TableId>> listableTables() {
  return {{"host_call", TableId::kHostCall},
          {"kernel", TableId::kKernel},
          {"copy", TableId::kCopy},
          {"fill", TableId::kFill},
          {"sync", TableId::kSync},
          {"memory_event", TableId::kMemoryEvent},
          {"program_build", TableId::kProgramBuild},
          {"range", TableId::kRange}};
}

std::string_view eventName(const Trace& trace, TableId table, size_t row) {
  std::string_view name;
  forEachTable(trace, [&](const auto& rows) {
    if (std::decay_t<decltype(rows)>::kId == table) name = eventName(trace, rows, row);
  });
  return name;
}

EventMatcher::EventMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventMatcher::EventMatcher(EventMatcher&&) noexcept = default;
EventMatcher::~EventMatcher() = default;

Result<EventMatcher> EventMatcher::of(const Trace& trace, const EventFilter& filter) {
  std::optional<std::regex> name;
  if (!filter.name_regex.empty()) {
    try {
      name.emplace(filter.name_regex, kSyntax);
    } catch (const std::regex_error& e) {
      return fail(ErrorCode::kInvalidArgument,
                  "'" + filter.name_regex + "' is not a regular expression: " + e.what(), "--name");
    }
  }
  return EventMatcher(  // NOLINTNEXTLINE(modernize-make-unique): it is an aggregate
      std::unique_ptr<Impl>(new Impl{trace,
                                     filter.tables,
                                     !filter.streams.empty(),
                                     Selection(trace, filter.from_ns, filter.to_ns, filter.streams),
                                     std::move(name),
                                     {}}));
}

bool EventMatcher::wantsTable(TableId table) const {
  return impl_->tables.empty() ||
         std::find(impl_->tables.begin(), impl_->tables.end(), table) != impl_->tables.end();
}

bool EventMatcher::operator()(TableId table, size_t row) const {
  return wantsTable(table) && impl_->inTimeAndStream(table, row) && impl_->nameMatches(table, row);
}

}  // namespace tracesmith
