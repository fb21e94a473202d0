// SPDX-License-Identifier: Apache-2.0
// What a handle meant at a time. Drivers reuse handles, and the rings of different threads are read
// in any order, so every definition keeps its time and a use asks "what was it then?".
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tracesmith {

template <class Value>
class HandleHistory {
 public:
  /// Remembers that `handle` is `value` from `time_ns` on; forgets the oldest beyond kKept.
  /// Returns false when that very definition is known already.
  bool define(uint64_t handle, int64_t time_ns, Value value) {
    std::vector<Version>& versions = versions_[handle];
    size_t at = versions.size();
    while (at > 0 && versions[at - 1].time_ns >= time_ns) {
      if (versions[at - 1].time_ns == time_ns) return false;
      --at;
    }
    versions.insert(versions.begin() + static_cast<std::ptrdiff_t>(at),
                    Version{time_ns, std::move(value)});
    if (versions.size() > kKept) versions.erase(versions.begin());
    return true;
  }

  /// The value at `time_ns`, or null when the handle was not known then.
  const Value* at(uint64_t handle, int64_t time_ns) const {
    auto it = versions_.find(handle);
    if (it == versions_.end()) return nullptr;
    for (size_t i = it->second.size(); i-- > 0;) {
      if (it->second[i].time_ns <= time_ns) return &it->second[i].value;
    }
    return nullptr;
  }
  Value* at(uint64_t handle, int64_t time_ns) {
    return const_cast<Value*>(std::as_const(*this).at(handle, time_ns));
  }

 private:
  // A use is joined at most one pass of the collector after it happened; more than a few lives of
  // one handle in that time do not overlap with it.
  static constexpr size_t kKept = 8;
  struct Version {
    int64_t time_ns;
    Value value;
  };
  std::unordered_map<uint64_t, std::vector<Version>> versions_;
};

}  // namespace tracesmith
