// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kMostMarks = 4000;

}  // namespace

Result<std::string> overlayAnswer(const StudioTrace& of, const QueryValues& values) {
  TS_CHECK_OK(haveOneClock(of.trace()));
  const std::string kind = values.text("kind").value_or("");
  if (kind != "idle" && kind != "path") {
    return fail(ErrorCode::kInvalidArgument, "is no overlay", kind);
  }
  TS_TRY(const std::optional<uint64_t> from, values.number("from_ns"));
  TS_TRY(const std::optional<uint64_t> to, values.number("to_ns"));
  const int64_t zero = of.rows().zero_ns;
  const int64_t begin = endOf(zero, static_cast<int64_t>(from.value_or(0)));
  const int64_t end = endOf(zero, static_cast<int64_t>(to.value_or(INT64_MAX)));
  const Overlay& overlay = kind == "idle" ? of.idleOverlay() : of.criticalPath();
  std::vector<OverlayMark> seen;
  for (const OverlayMark& mark : overlay.marks) {
    if (mark.begin_ns >= end) break;
    if (mark.end_ns > begin) seen.push_back(mark);
  }
  const size_t all = seen.size();
  if (all > kMostMarks) {
    const auto longer = [](const OverlayMark& a, const OverlayMark& b) {
      return lengthOf(a.begin_ns, a.end_ns) > lengthOf(b.begin_ns, b.end_ns);
    };
    std::nth_element(seen.begin(), seen.begin() + kMostMarks, seen.end(), longer);
    seen.resize(kMostMarks);
    std::sort(seen.begin(), seen.end(),
              [](const OverlayMark& a, const OverlayMark& b) { return a.begin_ns < b.begin_ns; });
  }
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().key("causes").beginArray();
    for (const std::string_view cause : overlay.causes) out.value(cause);
    out.endArray().field("all", all).key("marks").beginArray();
    for (const OverlayMark& mark : seen) {
      out.beginArray()
          .value(mark.lane)
          .value(relativeTo(zero, mark.begin_ns))
          .value(relativeTo(zero, mark.end_ns));
      out.value(mark.cause).endArray();
    }
    out.endArray().endObject();
  });
}

}  // namespace tracesmith::studio
