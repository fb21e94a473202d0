// SPDX-License-Identifier: Apache-2.0
// Long work asks from time to time whether it is still wanted: reading, importing, analysing and
// replaying do. Who starts it may say so, for the thread that does it.
#pragma once

#include <cstddef>
#include <functional>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Until it is gone, `cancelled` is asked, often, by what this thread does.
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

/// Whether what this thread does is to end; false where there is no CancelScope.
bool isCancelled();
/// The same for a loop, which asks at each 4096th of its steps. What a function gives that ended so
/// is not whole: who called it asks as well, and keeps nothing of it.
inline bool isCancelledAt(size_t step) { return step % 4096 == 4095 && isCancelled(); }
/// kUnsupported, "interrupted": it is to end.
Status checkCancelled();

}  // namespace tracesmith
