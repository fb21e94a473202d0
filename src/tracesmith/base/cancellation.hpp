// SPDX-License-Identifier: Apache-2.0
// Cooperative cancellation. Long operations (reading, importing, analysing, replaying) check from
// time to time whether to continue. The code that starts one can cancel it, per thread.
#pragma once

#include <cstddef>
#include <functional>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// While this object exists, work on this thread calls `cancelled` often and ends early once it
/// returns true.
class CancelScope {
 public:
  explicit CancelScope(std::function<bool()> cancelled);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  std::function<bool()> cancelled_;
  const std::function<bool()>* outer_;
};

/// Whether the work of this thread should end; false without a CancelScope.
bool isCancelled();
/// The same for a loop: checks on every 4096th step. A function that ends this way returns an
/// incomplete result. Its caller must check as well and discard that result.
inline bool isCancelledAt(size_t step) { return step % 4096 == 4095 && isCancelled(); }
/// Fails with kUnsupported, "interrupted", if the work should end.
Status checkCancelled();

}  // namespace tracesmith
