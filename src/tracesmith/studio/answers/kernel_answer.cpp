// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kBins = 40;
constexpr size_t kMostLaunchPoints = 1500;

struct Launch {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
};

std::vector<Launch> launchesOf(const StudioTrace& of, const std::string& label) {
  const Trace& trace = of.trace();
  std::vector<int8_t> wanted(trace.strings.size(), -1);  // by StringId; -1: not yet known
  std::vector<Launch> out;
  for (size_t row = 0; row < trace.kernel.size(); ++row) {
    const size_t id = indexOf(trace.kernel.name[row]);
    if (wanted[id] < 0) {
      const NameId name =
          of.names().of({.table = TableId::kKernel, .row = static_cast<uint32_t>(row)});
      wanted[id] = of.names().label(name) == label || of.names().full(name) == label ? 1 : 0;
    }
    if (wanted[id] == 1) out.push_back({trace.kernel.start_ns[row], trace.kernel.duration_ns[row]});
  }
  return out;
}

/// Bins of equal ratio between the shortest and the longest: [from, to, count].
void writeHistogram(const std::vector<Launch>& launches, JsonWriter& out) {
  out.key("histogram").beginArray();
  const auto [least, most] = std::minmax_element(
      launches.begin(), launches.end(),
      [](const Launch& a, const Launch& b) { return a.duration_ns < b.duration_ns; });
  if (least != launches.end()) {
    const double from = static_cast<double>(std::max<int64_t>(least->duration_ns, 1));
    const double to = std::max(static_cast<double>(most->duration_ns), from) + 1;
    const double step = std::log(to / from) / kBins;
    std::vector<uint64_t> counts(kBins);
    for (const Launch& launch : launches) {
      const double place =
          std::log(static_cast<double>(std::max<int64_t>(launch.duration_ns, 1)) / from) / step;
      ++counts[std::min(static_cast<size_t>(std::max(place, 0.0)), kBins - 1)];
    }
    for (size_t i = 0; i < kBins; ++i) {
      out.beginArray().value(from * std::exp(step * static_cast<double>(i)));
      out.value(from * std::exp(step * static_cast<double>(i + 1))).value(counts[i]).endArray();
    }
  }
  out.endArray();
}

/// Of each part of the launches, in order of their start, the shortest and the longest:
/// [start, duration].
void writePoints(std::vector<Launch> launches, int64_t zero_ns, JsonWriter& out) {
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
  const size_t step =
      std::max<size_t>(1, (2 * launches.size() + kMostLaunchPoints - 1) / kMostLaunchPoints);
  const auto write = [&](const Launch& launch) {
    out.beginArray()
        .value(relativeTo(zero_ns, launch.start_ns))
        .value(launch.duration_ns)
        .endArray();
  };
  out.key("points").beginArray();
  for (size_t begin = 0; begin < launches.size(); begin += step) {
    const auto first = launches.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = first + static_cast<ptrdiff_t>(std::min(step, launches.size() - begin));
    const auto [least, most] = std::minmax_element(
        first, last,
        [](const Launch& a, const Launch& b) { return a.duration_ns < b.duration_ns; });
    write(*least);
    if (most != least) write(*most);
  }
  out.endArray().field("all_points", step == 1);
}

}  // namespace

Result<std::string> kernelAnswer(const StudioTrace& of, const std::string& label) {
  const std::vector<Launch> launches = launchesOf(of, label);
  if (launches.empty())
    return fail(ErrorCode::kNotFound, "the trace has no kernel of this name", label);
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("count", launches.size());
    writeHistogram(launches, out);
    writePoints(launches, of.rows().zero_ns, out);
    out.endObject();
  });
}

}  // namespace tracesmith::studio
