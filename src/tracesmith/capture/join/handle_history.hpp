// SPDX-License-Identifier: Apache-2.0
// What a handle meant at a time. Drivers reuse handles, and the rings of different threads are read
// in any order, so every definition keeps its time and a use asks "what was it then?".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tracesmith {

template <class Value>
class HandleHistory {
 public:
  /// Remembers that `handle` is `value` from `time` on (a time of any clock, always the same).
  /// Returns false when that very definition is known already.
  bool define(uint64_t handle, int64_t time, Value value) {
    std::vector<Version>& versions = versions_[handle];
    size_t at = versions.size();
    while (at > 0 && versions[at - 1].time >= time) {
      if (versions[at - 1].time == time) return false;
      --at;
    }
    versions.insert(versions.begin() + static_cast<std::ptrdiff_t>(at),
                    Version{time, pass_, std::move(value)});
    if (versions.size() == kKept + 1) grown_.push_back(handle);
    return true;
  }

  /// The value at `time`, or null when the handle was not known then.
  const Value* at(uint64_t handle, int64_t time) const {
    auto it = versions_.find(handle);
    if (it == versions_.end()) return nullptr;
    const std::vector<Version>& versions = it->second;
    auto after = std::upper_bound(versions.begin(), versions.end(), time,
                                  [](int64_t t, const Version& v) { return t < v.time; });
    return after == versions.begin() ? nullptr : &std::prev(after)->value;
  }
  Value* at(uint64_t handle, int64_t time) {
    return const_cast<Value*>(std::as_const(*this).at(handle, time));
  }

  /// Ends a pass of the collector: forgets what no later use can ask for. A record is joined in the
  /// pass in which it was defined or in the next one, so the definitions of the last two passes
  /// stay (a driver may have used one handle a thousand times in them), the one before them, and
  /// some.
  void endPass() {
    ++pass_;
    std::erase_if(grown_, [&](uint64_t handle) {
      std::vector<Version>& versions = versions_[handle];
      size_t first_needed = 0;
      while (first_needed < versions.size() && versions[first_needed].pass + 2 <= pass_) {
        ++first_needed;
      }
      const size_t in_force = first_needed == 0 ? 0 : first_needed - 1;
      const size_t spare = versions.size() - kKept;
      versions.erase(versions.begin(),
                     versions.begin() + static_cast<std::ptrdiff_t>(std::min(in_force, spare)));
      return versions.size() <= kKept;
    });
  }

  size_t versionsOf(uint64_t handle) const {
    auto it = versions_.find(handle);
    return it == versions_.end() ? 0 : it->second.size();
  }

 private:
  // For calls that began long before they were recorded.
  static constexpr size_t kKept = 8;
  struct Version {
    int64_t time;
    uint64_t pass;
    Value value;
  };
  std::unordered_map<uint64_t, std::vector<Version>> versions_;  // ascending in time
  std::vector<uint64_t> grown_;                                  // handles with more than kKept
  uint64_t pass_ = 0;
};

}  // namespace tracesmith
