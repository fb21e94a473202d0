// SPDX-License-Identifier: Apache-2.0
// Follows the events of a flight recorder, which keeps only the newest ones.
#pragma once

#include <string>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class FlightObserver {
 public:
  virtual ~FlightObserver() = default;
  /// Rows that are being written, on the collector's thread. Returns why the window should be saved
  /// now; "": no reason.
  virtual std::string onRows(const Trace& rows) = 0;
  /// A part of the events has ended, and is in this file, which has no end marker. Called on
  /// another thread, part by part; `is_last`: no other one follows.
  virtual void onPart(const std::string& path, bool is_last) = 0;
};

}  // namespace tracesmith
