// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/cancellation.hpp"

#include <utility>

namespace tracesmith {
namespace {

constinit thread_local const std::function<bool()>* t_cancelled = nullptr;

}  // namespace

CancelScope::CancelScope(std::function<bool()> cancelled)
    : cancelled_(std::move(cancelled)), outer_(std::exchange(t_cancelled, &cancelled_)) {}

CancelScope::~CancelScope() { t_cancelled = outer_; }

bool isCancelled() { return t_cancelled != nullptr && (*t_cancelled)(); }

Status checkCancelled() {
  if (isCancelled()) return fail(ErrorCode::kUnsupported, "interrupted");
  return {};
}

}  // namespace tracesmith
