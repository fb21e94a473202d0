// SPDX-License-Identifier: Apache-2.0
// The rules. Each is a function that adds its findings, if the trace shows its problem.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/findings/facts.hpp"
#include "tracesmith/findings/findings.hpp"
#include "tracesmith/findings/gain.hpp"

namespace tracesmith::findings {

/// A smaller part of the run is no finding.
constexpr double kLeastShare = 0.02;
/// From this part on, a finding is major.
constexpr double kMajorShare = 0.10;

/// The rules that other rules explain parts of.
inline constexpr const char* kHostLate = "host-late";
inline constexpr const char* kStartAndEnd = "start-and-end";
/// The rule that the verdict repeats.
inline constexpr const char* kStraggler = "straggler";

struct Context {
  const Facts& facts;
  const FindingsOptions& options;
  GainPredictor& gains;
  Findings& out;

  const Trace& trace() const { return facts.trace; }
  /// "tracesmith analyze FILE --idle".
  std::string command(std::string_view verb, std::string_view arguments) const;
  /// Predicts, or says that predictions are off.
  Gain gain(const Change& change) const;
  /// Sets the worst part of the evidence; times are those of the trace.
  void setPart(Finding& finding, int64_t begin_ns, int64_t end_ns) const;
  void add(Finding finding) const { out.list.push_back(std::move(finding)); }
  /// Adds a finding unless its fix would not shorten the run, by the model: its problem is real,
  /// but hidden behind another.
  void addIfFixed(Finding finding) const;
  /// Sets evidence that is all gaps of one cause.
  void setGaps(Finding& finding, const GapTotal& gaps) const;
  void notChecked(std::string why) const { out.not_checked.push_back(std::move(why)); }
};

/// Gain of a change that the emulator does not model.
Gain cannotSay(std::string why);
/// "1 copy", "2 copies": English plural with s unless `plural` is given.
std::string counted(uint64_t n, std::string_view singular, std::string_view plural = {});
/// "cudaMalloc (12, 3.1 ms), cudaFree (2, 1.0 ms)": at most three.
std::string listed(const Facts& facts, const std::vector<CallTime>& calls);
/// A selector of exactly this name: "call=^cudaFree$".
std::string exactly(std::string_view kind, std::string_view name);

// In the order of docs/findings.md.
void findRaces(const Context& context);
void findLosses(const Context& context);
void findLateHost(const Context& context);
void findSynchronization(const Context& context);
void findLaunchBound(const Context& context);
void findSlowLaunches(const Context& context);
void findAllocations(const Context& context);
void findBuilds(const Context& context);
void findUnexplainedIdle(const Context& context);
void findStartAndEnd(const Context& context);
void findExposedCommunication(const Context& context);
void findExposedCopies(const Context& context);
void findSmallCopies(const Context& context);
void findPageableCopies(const Context& context);
void findDominantKernel(const Context& context);
void findLowOccupancy(const Context& context);
void findTails(const Context& context);
void findUnusedStreams(const Context& context);
void findStepVariance(const Context& context);
void findImbalance(const Context& context);
void findStragglingRanks(const Context& context);
/// Hangs, and mismatches.
void findMisfittingCalls(const Context& context);
void findMemoryGrowth(const Context& context);
void findMemoryPeaks(const Context& context);

}  // namespace tracesmith::findings
