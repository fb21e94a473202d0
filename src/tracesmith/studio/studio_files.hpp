// SPDX-License-Identifier: Apache-2.0
// The traces that Studio shows: one, which may be replaced while it is shown, and perhaps another
// to compare it with.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

/// Any number of threads may use it at the same time.
class StudioFiles {
 public:
  using Shared = std::shared_ptr<const StudioTrace>;

  explicit StudioFiles(Shared trace, Shared before = nullptr)
      : trace_(std::move(trace)), before_(std::move(before)) {}

  /// The trace as it is now; answers to one question use one of them.
  Shared trace() const {
    const std::lock_guard lock(mutex_);
    return trace_;
  }
  /// The trace to compare it with; null: there is none.
  const Shared& before() const { return before_; }
  /// Why what is shown is not what the file is now; "" if it is.
  std::string note() const {
    const std::lock_guard lock(mutex_);
    return note_;
  }

  void replace(Shared trace) {
    const std::lock_guard lock(mutex_);
    trace_ = std::move(trace);
    note_.clear();
  }
  void keep(std::string note) {
    const std::lock_guard lock(mutex_);
    note_ = std::move(note);
  }

 private:
  mutable std::mutex mutex_;
  Shared trace_;
  const Shared before_;
  std::string note_;
};

}  // namespace tracesmith::studio
