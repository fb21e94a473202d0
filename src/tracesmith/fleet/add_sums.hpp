// SPDX-License-Identifier: Apache-2.0
// Adds the parts of a FleetSummary, by the kind of each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tracesmith/fleet/fleet_summary.hpp"

namespace tracesmith {

inline void addTo(uint64_t& to, const uint64_t& from) { to += from; }
inline void addTo(Largest& to, const Largest& from) { to.value = std::max(to.value, from.value); }
inline void addTo(WideSum& to, const WideSum& from) { to.add(from); }
inline void addTo(ValueSums& to, const ValueSums& from) { to.add(from); }

template <class T>
concept HasFields = requires(T& s) {
  visitFields(s, [](size_t, auto&) {});
};

/// A struct, field by field.
template <HasFields Sums>
void addTo(Sums& to, const Sums& from);

template <class T>
void addTo(std::map<std::string, T>& to, const std::map<std::string, T>& from) {
  // Both are in the order of their names, and mostly have the same ones.
  auto at = to.begin();
  for (const auto& [name, value] : from) {
    if (at == to.end() || at->first != name) at = to.lower_bound(name);
    if (at == to.end() || at->first != name) {
      at = to.emplace_hint(at, name, value);
    } else {
      addTo(at->second, value);
    }
    ++at;
  }
}

template <HasFields Sums>
void addTo(Sums& to, const Sums& from) {
  constexpr size_t kMostFields = 32;
  std::array<const void*, kMostFields> fields{};
  visitFields(from, [&](size_t number, const auto& field) { fields[number] = &field; });
  visitFields(to, [&](size_t number, auto& field) {
    addTo(field, *static_cast<const std::remove_reference_t<decltype(field)>*>(fields[number]));
  });
}

/// Keeps the `most` entries of the largest weight(entry) (the first names of equal ones); adds up
/// the others under kOtherNames.
template <class T, class Weight>
void keepLargest(std::map<std::string, T>& all, size_t most, Weight&& weight) {
  if (all.size() <= most) return;
  std::vector<std::pair<uint64_t, std::string>> by_weight;
  for (const auto& [name, value] : all) by_weight.emplace_back(~uint64_t{weight(value)}, name);
  std::sort(by_weight.begin(), by_weight.end());
  T others{};
  for (size_t i = most - 1; i < by_weight.size(); ++i) {
    addTo(others, all.extract(by_weight[i].second).mapped());
  }
  addTo(all[kOtherNames], others);
}

}  // namespace tracesmith
