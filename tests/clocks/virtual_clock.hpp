// SPDX-License-Identifier: Apache-2.0
// Clocks that drift, wander, are slewed and set, as functions of the true time: clock_relay writes
// their times into answers, clock_truth knows what they were.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

/// By how much a virtual clock is ahead of the one that it is made of.
class VirtualClock {
 public:
  /// `start_ns`: when it begins to differ. `length_ns`: of the experiment, which changes of rate
  /// and steps are parts of. nullopt for a name that is none.
  static std::optional<VirtualClock> of(std::string_view name, int64_t start_ns,
                                        int64_t length_ns) {
    VirtualClock clock;
    clock.start_ns_ = start_ns;
    clock.length_ = static_cast<double>(length_ns);
    if (name == "none") return clock;
    if (name == "drift") {
      clock.drift_ = 23e-6;
    } else if (name == "wander") {
      clock.drift_ = 5e-6;
      clock.wander_ = 1e-6;
    } else if (name == "slew") {  // a daemon changes the rate for a while
      clock.drift_ = -8e-6;
      clock.slew_ = 5e-6;
    } else if (name == "fast_slew") {  // as fast as the kernel and ntpd correct a clock
      clock.slew_ = 500e-6;
    } else if (name == "step") {
      clock.drift_ = 11e-6;
      clock.step_ = 1.5e6;
    } else if (name == "step_back") {
      clock.step_ = -40e3;
    } else {
      return std::nullopt;
    }
    return clock;
  }

  int64_t aheadAt(int64_t time_ns) const {
    const auto t = static_cast<double>(time_ns - start_ns_);
    constexpr double kPeriod = 20e9;
    const double angle = 2 * M_PI * t / kPeriod;
    const double slewed = std::clamp(t, kSlewFrom * length_, kSlewTo * length_);
    return std::llround(drift_ * t + wander_ * kPeriod / (2 * M_PI) * (1 - std::cos(angle)) +
                        slew_ * (slewed - kSlewFrom * length_) +
                        (t > kStepAt * length_ ? step_ : 0));
  }

 private:
  static constexpr double kSlewFrom = 0.35, kSlewTo = 0.6, kStepAt = 0.473;

  int64_t start_ns_ = 0;
  double length_ = 0;
  double drift_ = 0, wander_ = 0, slew_ = 0;  // ns per ns
  double step_ = 0;                           // ns
};
