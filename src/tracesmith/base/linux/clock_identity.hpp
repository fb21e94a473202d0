// SPDX-License-Identifier: Apache-2.0
// Which clock the times of this process come from: CLOCK_MONOTONIC of one boot of one machine,
// which a time namespace may shift.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tracesmith {

struct ClockIdentity {
  std::array<uint8_t, 16> boot{};  ///< the kernel's boot id; zeros: unknown
  int64_t shift_ns = 0;            ///< of the time namespace

  bool isKnown() const { return boot != decltype(boot){}; }
  /// "7c1f...-...", with "+5000.000000000 s" if it is shifted; empty if unknown. Two processes have
  /// the same clock if their texts are equal.
  std::string text() const;

  friend bool operator==(const ClockIdentity&, const ClockIdentity&) = default;
};

/// Id of the machine's boot, as the kernel writes it; "" when it cannot be read.
const std::string& bootId();
/// Of this process.
const ClockIdentity& ownClock();
/// From what the kernel says: the text of /proc/sys/kernel/random/boot_id and of
/// /proc/self/timens_offsets, which older kernels lack.
ClockIdentity clockIdentity(std::string_view boot_id, std::string_view namespace_offsets);

}  // namespace tracesmith
