// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/base/shell_words.hpp"
#include "tracesmith/findings/rules.hpp"
#include "tracesmith/findings/verdict.hpp"

namespace tracesmith {
namespace findings {
namespace {

constexpr std::array kRules = {
    findRaces,           findLosses,
    findLateHost,        findSynchronization,
    findLaunchBound,     findSlowLaunches,
    findAllocations,     findBuilds,
    findUnexplainedIdle, findExposedCommunication,
    findExposedCopies,   findSmallCopies,
    findPageableCopies,  findDominantKernel,
    findLowOccupancy,    findTails,
    findUnusedStreams,   findStepVariance,
    findImbalance,       findMemory,
};

/// A smaller predicted gain is no finding.
constexpr double kLeastGain = 0.01;

}  // namespace

std::string Context::command(std::string_view verb, std::string_view arguments) const {
  return fmt::format("tracesmith {} {}{}{}", verb, shellWord(options.file),
                     arguments.empty() ? "" : " ", arguments);
}

void Context::addIfFixed(Finding finding) const {
  if (finding.gain.share && *finding.gain.share < kLeastGain) return;
  add(std::move(finding));
}

Gain Context::gain(const Change& change) const {
  return options.predict ? gains.predict(change) : cannotSay("predictions are off");
}

void Context::setPart(Finding& finding, int64_t begin_ns, int64_t end_ns) const {
  finding.evidence.begin_ns = lengthOf(facts.begin_ns, begin_ns);
  finding.evidence.end_ns = lengthOf(facts.begin_ns, end_ns);
}

Gain cannotSay(std::string why) {
  Gain out;
  out.why_not = std::move(why);
  return out;
}

std::string counted(uint64_t n, std::string_view singular, std::string_view plural) {
  if (n == 1) return fmt::format("1 {}", singular);
  if (!plural.empty()) return fmt::format("{} {}", formatCount(n), plural);
  return fmt::format("{} {}s", formatCount(n), singular);
}

std::string exactly(std::string_view kind, std::string_view name) {
  std::string out = fmt::format("{}=^", kind);
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    out += plain ? c : '.';
  }
  return out + '$';
}

}  // namespace findings

std::string_view toString(Severity severity) {
  switch (severity) {
    case Severity::kWrong:
      return "wrong";
    case Severity::kMajor:
      return "major";
    case Severity::kMinor:
      break;
  }
  return "minor";
}

RecordingBeside::RecordingBeside(const std::string& trace_path) {
  Result<RecordingReader> reader = RecordingReader::open(trace_path);
  if (!reader) {
    if (reader.error().code != ErrorCode::kNotFound) why_not_ = reader.error().toString();
    return;
  }
  if (const Status same = checkSameSession(*reader, trace_path); !same) {
    why_not_ = same.error().toString();
    return;
  }
  reader_.emplace(std::move(*reader));
}

void RecordingBeside::give(FindingsOptions& options) {
  options.recording = reader_ ? &*reader_ : nullptr;
  options.why_no_recording = why_not_;
}

Findings findingsOf(const Trace& trace, const FindingsOptions& options) {
  using namespace findings;
  Findings out;
  const Facts facts(trace);
  GainPredictor gains(trace, options.file);
  const Context context{facts, options, gains, out};
  for (const auto rule : kRules) {
    if (isCancelled()) return {};
    rule(context);
  }
  for (Finding& finding : out.list) {
    if (finding.severity == Severity::kMinor && finding.possible >= kMajorShare) {
      finding.severity = Severity::kMajor;
    }
  }
  std::stable_sort(out.list.begin(), out.list.end(), [](const Finding& a, const Finding& b) {
    const bool a_wrong = a.severity == Severity::kWrong;
    const bool b_wrong = b.severity == Severity::kWrong;
    return a_wrong != b_wrong ? a_wrong : a.possible > b.possible;
  });
  out.verdict = verdictOf(facts, out.list);
  return out;
}

}  // namespace tracesmith
