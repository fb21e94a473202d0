// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kStackColumns = 1500;
constexpr size_t kMostFunctionBytes = 4 << 10;

}  // namespace

Result<std::string> stackLanesAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const uint64_t lane, values.needNumber("lane"));
  TS_TRY(const std::optional<uint64_t> from, values.number("from_ns"));
  TS_TRY(const std::optional<uint64_t> to, values.number("to_ns"));
  const std::vector<TimelineRow>& rows = of.rows().rows;
  if (lane >= rows.size() || !hasCalls(rows[lane])) {
    return fail(ErrorCode::kNotFound, "is no lane with calls of a thread", std::to_string(lane));
  }
  const int64_t zero = of.rows().zero_ns;
  const int64_t begin = endOf(zero, static_cast<int64_t>(from.value_or(0)));
  const int64_t end = to ? endOf(zero, static_cast<int64_t>(*to)) : endOf(of.rows().end_ns, 1);
  return of.withStacks([&](StackLanes& stacks) {
    const std::vector<StackSpan> spans =
        stacks.within(rows[lane].lane, begin, std::max(end, endOf(begin, 1)), kStackColumns);
    return jsonAnswer([&](JsonWriter& out) {
      std::set<uint32_t> names;
      // [depth, begin, end, name or -1, 1: began before the part + 2: goes on after it]
      out.beginObject().key("spans").beginArray();
      for (const StackSpan& span : spans) {
        const bool several = span.name == StackSpan::kSeveral;
        if (!several) names.insert(span.name);
        out.beginArray().value(span.depth).value(relativeTo(zero, span.begin_ns));
        out.value(relativeTo(zero, span.end_ns));
        out.value(several ? int64_t{-1} : int64_t{span.name});
        out.value((span.began_before ? 1 : 0) + (span.goes_on ? 2 : 0)).endArray();
      }
      out.endArray().key("names").beginObject();
      for (const uint32_t name : names) {
        out.field(std::to_string(name), stacks.name(name).substr(0, kMostFunctionBytes));
      }
      out.endObject().endObject();
    });
  });
}

}  // namespace tracesmith::studio
