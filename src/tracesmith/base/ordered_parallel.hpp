// SPDX-License-Identifier: Apache-2.0
// Work on a sequence of parts: threads prepare them in any order, and the caller takes them in
// theirs.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tracesmith {

/// Calls make(thread, part) for each part from 0 to `parts` - 1 on `threads` threads (thread: 0 to
/// `threads` - 1), and take(result) on the calling thread, in the order of the parts. At most
/// 2 * threads results wait. take() returns false to end early. With one thread or part, the
/// calling thread does both.
template <class Make, class Take>
void makeInOrder(size_t parts, unsigned threads, Make&& make, Take&& take) {
  if (threads <= 1 || parts <= 1) {
    for (size_t part = 0; part < parts; ++part) {
      if (!take(make(0u, part))) return;
    }
    return;
  }
  using Made = decltype(make(0u, size_t{0}));
  std::mutex mutex;
  std::condition_variable changed;
  std::map<size_t, Made> waiting;
  size_t next_to_make = 0, next_to_take = 0;
  bool ends = false;
  const size_t most_ahead = size_t{2} * threads;
  const auto work = [&](unsigned thread) {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] {
        return ends || next_to_make == parts || next_to_make < next_to_take + most_ahead;
      });
      if (ends || next_to_make == parts) return;
      const size_t part = next_to_make++;
      lock.unlock();
      Made made = make(thread, part);
      lock.lock();
      waiting.emplace(part, std::move(made));
      changed.notify_all();
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work, i);
  while (next_to_take < parts) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting.contains(next_to_take); });
    Made made = std::move(waiting.extract(next_to_take).mapped());
    lock.unlock();
    const bool goes_on = take(std::move(made));
    lock.lock();
    ++next_to_take;
    ends = !goes_on;
    changed.notify_all();
    if (ends) break;
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace tracesmith
