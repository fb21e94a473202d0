// SPDX-License-Identifier: Apache-2.0
// A pass over all rows of a large table, one half of it on a thread of its own.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>

namespace tracesmith {

/// Calls first() and second() at the same time where they may be, where there are rows enough for a
/// thread to be worth it, and one to be had; else one after the other. Neither may throw, nor write
/// what the other reads.
template <class First, class Second>
void inTwoHalves(bool allowed, uint64_t rows, First&& first, Second&& second) {
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
