// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/event_buffer.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace tracesmith {

bool EventBuffer::push(TraceEvent event) {
  std::unique_lock lock(mutex_);
  ++pushed_;
  const auto hasRoom = [&] { return events_.size() < capacity_; };
  if (!hasRoom() && policy_ == OverflowPolicy::Block && waiting_ && !given_up_)
    given_up_ = !room_.wait_for(lock, std::chrono::nanoseconds(kMaxBlockNs),
                                [&] { return !waiting_ || hasRoom(); });
  if (!hasRoom()) {
    ++dropped_;
    if (policy_ != OverflowPolicy::DropOldest || events_.empty()) return false;
    events_.pop_front();
  }
  events_.push_back(std::move(event));
  return true;
}

size_t EventBuffer::take(std::vector<TraceEvent>& out, size_t max) {
  const std::lock_guard lock(mutex_);
  const size_t n = max == 0 ? events_.size() : std::min(max, events_.size());
  const auto end = events_.begin() + static_cast<ptrdiff_t>(n);
  out.insert(out.end(), std::make_move_iterator(events_.begin()), std::make_move_iterator(end));
  events_.erase(events_.begin(), end);
  if (n > 0) given_up_ = false;
  room_.notify_all();
  return n;
}

std::optional<Timestamp> EventBuffer::oldest() const {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return std::nullopt;
  return events_.front().timestamp;
}

uint64_t EventBuffer::captured() const {
  const std::lock_guard lock(mutex_);
  return pushed_ - dropped_;
}
uint64_t EventBuffer::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void EventBuffer::setWaiting(bool waiting) {
  const std::lock_guard lock(mutex_);
  waiting_ = waiting;
  room_.notify_all();
}

}  // namespace tracesmith
