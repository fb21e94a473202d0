// SPDX-License-Identifier: Apache-2.0
// Shows on a terminal what a command is doing, once that takes longer than a second. Nothing is
// written to a file or pipe.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tracesmith::cli {

/// The line stands on standard error until the object ends, or until something else is printed:
/// see clearShown().
class BusyLine {
 public:
  /// `what`: "reading run.sbt".
  explicit BusyLine(std::string what);
  ~BusyLine() { end(); }
  BusyLine(const BusyLine&) = delete;
  BusyLine& operator=(const BusyLine&) = delete;

  /// Removes the line for good. Call it before results are printed.
  void end();

  /// Removes the line that stands on the terminal, if any, because a message follows. It returns
  /// below the message. Any thread may call this.
  static void clearShown();

 private:
  void show();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace tracesmith::cli
