// SPDX-License-Identifier: Apache-2.0
#include "device_feed.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "tracesmith/capture/processes/signal_free_thread.hpp"

namespace tracesmith::python {
namespace {

/// The period at which profilers drain their rings. A killed program loses events of this period in
/// addition to those that a session loses.
constexpr auto kPeriod = std::chrono::milliseconds(20);

}  // namespace

DeviceFeed::~DeviceFeed() {
  stop();
  // In a forked child: the parent's thread cannot be joined, and the condition variable that it
  // waits for must not be destroyed.
  (void)mover_.release();
}

Status DeviceFeed::start() {
  mover_ = std::make_unique<Mover>();
  owner_pid_ = static_cast<uint32_t>(getpid());
  auto thread = startSignalFreeThread([this] { run(); });
  if (!thread) {
    mover_.reset();
    return tl::unexpected<Error>(thread.error());
  }
  mover_->thread = std::move(*thread);
  return {};
}

void DeviceFeed::stop() {
  if (mover_ == nullptr || owner_pid_ != static_cast<uint32_t>(getpid())) return;
  {
    const std::lock_guard lock(mover_->mutex);
    mover_->stop_asked = true;
  }
  mover_->wake.notify_all();
  mover_->thread.join();
  mover_.reset();
  move();
}

void DeviceFeed::run() {
  pthread_setname_np(pthread_self(), "tracesmith");  // its name in the trace
  Mover& mover = *mover_;
  std::unique_lock lock(mover.mutex);
  while (!mover.wake.wait_for(lock, kPeriod, [&] { return mover.stop_asked; })) {
    lock.unlock();
    move();
    lock.lock();
  }
}

void DeviceFeed::move() {
  events_.clear();
  profiler_.getEvents(events_);
  const uint64_t dropped = profiler_.eventsDropped();
  if (events_.empty() && dropped == dropped_) return;
  dropped_ = dropped;
  for (TraceEvent& event : events_) {
    // An event without a thread is assigned to the main thread, not to this one.
    if (event.thread_id == 0) event.thread_id = owner_pid_;
    ++(session_.emit(event) ? taken_ : refused_);
  }
  std::string reason;
  if (dropped != 0) {
    reason = std::to_string(dropped) + " found the profiler's buffer, or its rings, full";
  }
  if (refused_ != 0) {
    reason += (reason.empty() ? "" : "; ") + std::to_string(refused_) +
              " were not taken by the session, whose losses say why";
  }
  session_.noteLoss("device events", taken_ + refused_ + dropped, refused_ + dropped, reason);
}

}  // namespace tracesmith::python
