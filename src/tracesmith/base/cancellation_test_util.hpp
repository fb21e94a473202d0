// SPDX-License-Identifier: Apache-2.0
// Cancels work at each of its steps.
#pragma once

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith::test {

/// Cancels work() at its n-th check, with increasing n, until it finishes; calls after() each time,
/// without cancellation. Returns how often work() was cancelled.
template <class Work, class After>
int ended(Work&& work, After&& after) {
  int times = 0;
  for (int n = 1;; n += 1 + n / 2, ++times) {
    int asked = 0;
    {
      const CancelScope scope([&] { return ++asked >= n; });
      work();
    }
    after();
    if (asked < n) return times;
  }
}

}  // namespace tracesmith::test
