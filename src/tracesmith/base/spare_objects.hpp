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

/// T can be moved and has a default. [any thread]
template <class T>
class SpareObjects {
 public:
  /// `most`: so many objects are kept.
  explicit SpareObjects(size_t most) : most_(most) { objects_.reserve(most); }

  /// One that was kept, or a new one.
  T take() {
    // A forked child may have a locked mutex that nobody unlocks.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || objects_.empty()) return T();
    T object = std::move(objects_.back());
    objects_.pop_back();
    return object;
  }
  void keep(T&& object) {
    T here = std::move(object);  // is released without the lock if there are enough
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && objects_.size() < most_) objects_.push_back(std::move(here));
  }

 private:
  const size_t most_;
  std::mutex mutex_;
  std::vector<T> objects_;
};

}  // namespace tracesmith
