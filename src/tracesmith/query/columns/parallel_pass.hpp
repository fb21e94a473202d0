// SPDX-License-Identifier: Apache-2.0
// Processes all rows of a large table, with one half on a second thread.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>

namespace tracesmith {

/// Calls first() and second(), in parallel if `allowed`, if there are enough rows to justify a
/// thread, and if one can be started; otherwise one after the other. Neither may throw, nor write
/// anything that the other reads.
template <class First, class Second>
void runInParallel(bool allowed, uint64_t rows, First&& first, Second&& second) {
  constexpr uint64_t kWorthAThread = 1u << 20;
  std::thread other;
  if (allowed && rows >= kWorthAThread && std::thread::hardware_concurrency() > 1) {
    try {
      other = std::thread([&] { second(); });
    } catch (const std::system_error&) {
    }
  }
  first();
  if (other.joinable()) {
    other.join();
  } else {
    second();
  }
}

}  // namespace tracesmith
