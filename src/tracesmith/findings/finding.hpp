// SPDX-License-Identifier: Apache-2.0
// A finding: one reason why a run takes longer than it has to, or why its results or its trace
// cannot be trusted. docs/findings.md defines every rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tracesmith {

enum class Severity : uint8_t {
  kWrong,  ///< results of the program, or this trace, may be wrong
  kMajor,  ///< at least a tenth of the run
  kMinor,
};
std::string_view toString(Severity severity);

/// How much shorter the run would be after a change, by the emulator (docs/whatif.md).
struct Gain {
  std::optional<double> share;  ///< of the run; none: not predicted
  double error = 0;      ///< error of the model on the unchanged trace, as a share of the run
  std::string change;    ///< assumed change, in words: "if the host were twice as fast"
  bool removes = false;  ///< the change takes the work away, not a part of its time
  std::string command;   ///< makes the same prediction; "" if there is none
  std::string why_not;   ///< why it is not predicted
};

struct Evidence {
  std::string text;      ///< what the rows show, in one sentence
  uint64_t rows = 0;     ///< number of rows that the finding rests on
  int64_t begin_ns = 0;  ///< the worst part, from the start of the trace
  int64_t end_ns = 0;    ///< equal to begin_ns: the finding has no single worst part
  std::string command;   ///< shows the evidence
};

struct Finding {
  std::string rule;  ///< id in docs/findings.md: "host-late"
  /// Rule of the finding whose time this one explains a part of; "": none. It follows that finding.
  std::string part_of;
  Severity severity = Severity::kMinor;
  std::string title;  ///< the finding as one sentence
  std::string cause;
  Evidence evidence;
  /// Part of the run that the problem affects, 0 to 1; none: not a matter of time. All shares,
  /// also those of Gain, are shares of the same time: from the first to the last event of host or
  /// device. Times of devices are means over the devices.
  std::optional<double> share;
  /// Most that a fix can save, as a share of the run. Findings are ordered by this.
  double possible = 0;
  std::string advice;  ///< what to do
  Gain gain;
};

struct Findings {
  std::string verdict;                   ///< one sentence
  std::vector<Finding> list;             ///< the most important first
  std::vector<std::string> not_checked;  ///< rules that need data which the trace does not have
};

}  // namespace tracesmith
