// SPDX-License-Identifier: Apache-2.0
// Work on a sequence of parts: threads prepare them in any order, and the caller takes them in
// theirs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith {

/// Calls make(thread, part) for each part from 0 to `parts` - 1 on `threads` threads (thread: 0 to
/// `threads` - 1), and take(result) on the calling thread, in the order of the parts. At most
/// 2 * threads results wait. take() returns false to end early. With one thread or part, the
/// calling thread does both.
///
/// Cancelling the calling thread's work (CancelScope) also cancels that of the other threads. An
/// exception of either function ends the work and reaches the caller. Returns true if all parts
/// were taken.
template <class Make, class Take>
[[nodiscard]] bool makeInOrder(size_t parts, unsigned threads, Make&& make, Take&& take) {
  if (threads <= 1 || parts <= 1) {
    for (size_t part = 0; part < parts; ++part) {
      if (isCancelled() || !take(make(0u, part))) return false;
    }
    return true;
  }
  using Made = decltype(make(0u, size_t{0}));
  std::mutex mutex;
  std::condition_variable changed;
  std::map<size_t, Made> waiting;
  size_t next_to_make = 0, next_to_take = 0;
  std::atomic<bool> ends{false};
  std::exception_ptr thrown;
  const size_t most_ahead = size_t{2} * threads;
  const auto endWith = [&](std::exception_ptr reason) {  // call with the mutex locked
    if (thrown == nullptr) thrown = std::move(reason);
    ends = true;
    changed.notify_all();
  };
  const auto work = [&](unsigned thread) {
    const CancelScope scope([&ends] { return ends.load(); });
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] {
        return ends || next_to_make == parts || next_to_make < next_to_take + most_ahead;
      });
      if (ends || next_to_make == parts) return;
      const size_t part = next_to_make++;
      lock.unlock();
      try {
        Made made = make(thread, part);
        lock.lock();
        waiting.emplace(part, std::move(made));
        changed.notify_all();
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        endWith(std::current_exception());
      }
    }
  };
  std::vector<std::thread> workers;
  try {
    workers.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work, i);
    constexpr std::chrono::milliseconds kBetweenChecks{50};
    std::unique_lock lock(mutex);
    while (!ends && next_to_take < parts) {
      changed.wait_for(lock, kBetweenChecks,
                       [&] { return ends || waiting.contains(next_to_take); });
      if (ends) break;
      lock.unlock();
      const bool cancelled = isCancelled();
      lock.lock();
      if (cancelled) endWith(nullptr);
      if (ends || !waiting.contains(next_to_take)) continue;
      Made made = std::move(waiting.extract(next_to_take).mapped());
      lock.unlock();
      const bool goes_on = take(std::move(made));
      lock.lock();
      ++next_to_take;
      if (!goes_on) ends = true;
      changed.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    endWith(std::current_exception());
  }
  for (std::thread& worker : workers) worker.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return next_to_take == parts && !ends;
}

}  // namespace tracesmith
