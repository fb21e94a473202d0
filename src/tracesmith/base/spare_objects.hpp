// SPDX-License-Identifier: Apache-2.0
// Objects that are kept for the memory that they hold. To provide new memory for every small file
// costs the system a good part of the time in which the file is read, and malloc gives large arrays
// back at once if the environment asks for that, as Dask's workers do.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace tracesmith {

/// At most `kMost` objects of the process. T can be moved and has a default. [any thread]
template <class T, size_t kMost>
class SpareObjects {
 public:
  /// One that was kept, or a new one.
  static T take() {
    SpareObjects& all = instance();
    // A forked child may have a locked mutex that nobody unlocks.
    const std::unique_lock lock(all.mutex_, std::try_to_lock);
    if (!lock || all.objects_.empty()) return T();
    T object = std::move(all.objects_.back());
    all.objects_.pop_back();
    return object;
  }
  static void keep(T&& object) {
    T here = std::move(object);  // is released without the lock if there are enough
    SpareObjects& all = instance();
    const std::unique_lock lock(all.mutex_, std::try_to_lock);
    if (lock && all.objects_.size() < kMost) all.objects_.push_back(std::move(here));
  }

 private:
  SpareObjects() { objects_.reserve(kMost); }
  /// It is never destroyed: threads may still use it when the program ends.
  static SpareObjects& instance() {
    static auto* const objects = new SpareObjects;
    return *objects;
  }

  std::mutex mutex_;
  std::vector<T> objects_;
};

}  // namespace tracesmith
