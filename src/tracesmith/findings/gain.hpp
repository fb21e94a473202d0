// SPDX-License-Identifier: Apache-2.0
// Predicts what a change would gain, with the emulator behind `whatif`. The graph of the trace is
// built at the first prediction, and only once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracesmith/emulate/emulator.hpp"
#include "tracesmith/findings/finding.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::findings {

/// A change in the form of `whatif`'s options.
struct Change {
  std::string words;  ///< "if the host were twice as fast"
  std::vector<std::string> remove;
  std::vector<std::string> scale;
  std::optional<uint32_t> streams;
};

class GainPredictor {
 public:
  /// `file` is the trace's name in commands.
  GainPredictor(const Trace& trace, std::string file);
  /// Makes predict() answer as for a trace that is too long, which a part of it may not be.
  void refuse() { is_refused_ = true; }

  /// Never fails: a Gain without a share says why.
  Gain predict(const Change& change);

  /// Operations and calls of the longest trace for which gains are predicted. Building the graph of
  /// a million takes 1.6 s, and each prediction 0.3 s (emulator_bench).
  static constexpr size_t kMostEvents = 300'000;

 private:
  void prepare();

  const Trace& trace_;
  std::string file_;
  bool is_refused_ = false;
  bool prepared_ = false;
  std::optional<EmulatorGraph> graph_;
  int64_t unchanged_ns_ = 0;
  double error_ = 0;
  std::string why_not_;
};

}  // namespace tracesmith::findings
