// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "tracesmith/studio/answers/answers.hpp"
#include "tracesmith/studio/answers/json_answer.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

struct Hit {
  int64_t begin_ns;
  uint32_t lane, item;
};

bool contains(std::string_view text, std::string_view lower) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), same) != text.end();
}

}  // namespace

std::string searchAnswer(const StudioTrace& of, const std::string& text, uint64_t limit) {
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::unordered_map<NameId, bool> matches;
  std::vector<Hit> hits;
  const std::vector<TimelineRow>& rows = of.rows().rows;
  for (uint32_t lane = 0; lane < rows.size() && !lower.empty(); ++lane) {
    const LaneItems& items = rows[lane].lane.items();
    for (uint32_t i = 0; i < items.size(); ++i) {
      const NameId name = of.names().of(items[i]);
      const auto [known, fresh] = matches.try_emplace(name);
      if (fresh) {
        known->second =
            contains(of.names().full(name), lower) || contains(of.names().label(name), lower);
      }
      if (known->second) hits.push_back({items[i].begin_ns, lane, i});
    }
  }
  const size_t shown = std::min<size_t>(hits.size(), limit);
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(shown), hits.end(),
                    [](const Hit& a, const Hit& b) {
                      return std::tie(a.begin_ns, a.lane, a.item) <
                             std::tie(b.begin_ns, b.lane, b.item);
                    });
  return jsonAnswer([&](JsonWriter& out) {
    out.beginObject().field("total", hits.size()).key("hits").beginArray();
    for (size_t i = 0; i < shown; ++i) {
      const DeviceSpan item = rows[hits[i].lane].lane.items()[hits[i].item];
      out.beginObject().field("lane", hits[i].lane).field("item", hits[i].item);
      out.field("begin_ns", relativeTo(of.rows().zero_ns, item.begin_ns));
      out.field("duration_ns", lengthOf(item.begin_ns, item.end_ns));
      out.field("name", of.names().of(item)).endObject();
    }
    out.endArray().endObject();
  });
}

}  // namespace tracesmith::studio
