// SPDX-License-Identifier: Apache-2.0
// Tells what a handle meant at a given time. Drivers reuse handles, and the rings of different
// threads are read in any order. So every definition keeps its time, and a use looks up the
// definition in force at its own time.
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
  /// Defines `handle` as `value` from `time` on (of any clock, but always the same one). Returns
  /// false when a definition with the same time exists.
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

  /// The value in force at `time`, or null when the handle was not known then.
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

  /// Ends a pass of the collector: forgets definitions that no later use can need. A record is
  /// joined in the pass in which it was defined, or in the next one. So these stay: the definitions
  /// of the last two passes (a driver may have reused one handle a thousand times in them), the one
  /// in force before them, and a few more.
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
  // For calls that started long before they were recorded.
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
