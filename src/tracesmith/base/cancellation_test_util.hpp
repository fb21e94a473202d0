// SPDX-License-Identifier: Apache-2.0
// Work that is ended at each of its steps.
#pragma once

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith::test {

/// Ends work() when it asks for the n-th time, with ever larger n, until it comes to its end, and
/// calls after() each time, when nothing ends it. How often it was ended.
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
