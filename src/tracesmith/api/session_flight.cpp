// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/session_flight.hpp"

#include <utility>
#include <vector>

namespace tracesmith {

Result<std::string> SessionFlight::save(const std::string& reason,
                                        const std::function<void()>& wake) {
  const std::lock_guard one(saving_);
  std::unique_lock lock(mutex_);
  answer_.reset();
  asked_ = reason.empty() ? std::string("saveWindow()") : reason;
  wake();
  changed_.wait(lock, [&] { return answer_ || ended_; });
  asked_.reset();
  if (!answer_) return fail(ErrorCode::kInvalidArgument, "the session does not run");
  if (answer_->number == 0) {
    return fail(ErrorCode::kUnsupported,
                "the window is not saved: that was done as often as most_saved_windows allows, or "
                "rows cannot be written");
  }
  if (!answer_->status) return tl::unexpected<Error>(answer_->status.error());
  return answer_->path;
}

void SessionFlight::serve(session::SessionDrain& drain) {
  const std::lock_guard lock(mutex_);
  if (asked_ && number_ == 0) {
    number_ = drain.saveWindow(*std::exchange(asked_, std::nullopt));
    if (number_ == 0) answer_.emplace();
  }
  answer(drain);
}

void SessionFlight::answer(const session::SessionDrain& drain) {
  if (number_ != 0) {
    for (const SavedWindow& saved : drain.window()->saved()) {
      if (saved.number == number_) answer_ = saved;
    }
  }
  if (!answer_) return;
  number_ = 0;
  changed_.notify_all();
}

void SessionFlight::end(session::SessionDrain& drain) {
  const std::lock_guard lock(mutex_);
  answer(drain);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace tracesmith
