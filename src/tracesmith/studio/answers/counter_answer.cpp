// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kCounterColumns = 1000;

}  // namespace

Result<std::string> countersAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_TRY(const std::optional<uint64_t> from, values.number("from_ns"));
  TS_TRY(const std::optional<uint64_t> to, values.number("to_ns"));
  const int64_t zero = of.rows().zero_ns;
  const int64_t begin = endOf(zero, static_cast<int64_t>(from.value_or(0)));
  const int64_t end = to ? endOf(zero, static_cast<int64_t>(*to)) : endOf(of.rows().end_ns, 1);
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("counters").beginArray();
    for (const CounterSeries& series : of.counters()) {
      const auto [least, most] = std::minmax_element(series.values.begin(), series.values.end());
      out.beginObject().field("least", *least).field("greatest", *most);
      // [time, least, greatest]
      out.key("points").beginArray();
      for (const CounterPoint& point :
           pointsOf(series, begin, std::max(end, endOf(begin, 1)), kCounterColumns)) {
        out.beginArray()
            .value(relativeTo(zero, point.time_ns))
            .value(point.least)
            .value(point.greatest);
        out.endArray();
      }
      out.endArray().endObject();
    }
    out.endArray().endObject();
  });
}

}  // namespace tracesmith::studio
