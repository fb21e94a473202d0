// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_counters.hpp"

#include <optional>
#include <string_view>

#include "tracesmith/import/common/source_numbers.hpp"

namespace tracesmith::import {

size_t ChromeCounters::add(const ChromeEvent& event, ProcessId process, int64_t time_ns) {
  std::string title(textOf(event[EventField::kName], room_));
  if (const JsonToken& id = event[EventField::kId]) title.append(" ").append(id.raw);
  size_t rows = 0;
  for (size_t i = 0; i < event.values.size(); ++i) {
    const ShapeValue& v = event.shape->values[i];
    if (!v.argument) continue;
    const std::optional<double> value = realNumber(textOf(event.values[i], room_));
    if (!value) {
      ++unreadable_;
      continue;
    }
    const std::string_view argument = std::string_view(v.key).substr(5);  // without "args."
    std::string key = std::to_string(static_cast<uint32_t>(process)) + '\0' + title + '\0';
    const auto [it, fresh] = tracks_.try_emplace(key.append(argument));
    if (fresh) {
      it->second = idAt<CounterTrackId>(tracks_.size() - 1);
      std::string name = title;
      if (argument != "value" && argument != title) name.append(" ").append(argument);
      delta_.counter_track.push({.name = delta_.strings.intern(name), .process_id = process});
    }
    delta_.counter.push({.time_ns = time_ns, .track_id = it->second, .value = *value});
    ++rows;
  }
  return rows;
}

}  // namespace tracesmith::import
