// SPDX-License-Identifier: Apache-2.0
// Saves the window of a flight recorder when it is asked to: by `tracesmith trigger`, or SIGUSR2.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/flight/window_requests.hpp"
#include "tracesmith/capture/launch/recording_trigger.hpp"

namespace tracesmith {

class WindowTriggers {
 public:
  explicit WindowTriggers(std::string session_dir) : requests_(std::move(session_dir)) {}

  void poll(Collector& collector, int64_t now_ns) {
    if (signal_.take()) collector.saveWindow("SIGUSR2");
    if (std::string reason = requests_.take(now_ns); !reason.empty()) {
      requests_.follow(collector.saveWindow(std::move(reason)), now_ns);
    }
    if (requests_.isWaiting()) requests_.answer(collector.window()->saved(), now_ns);
  }

 private:
  TriggerSignal signal_;
  WindowRequests requests_;
};

}  // namespace tracesmith
