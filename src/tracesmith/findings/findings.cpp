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

/// What a rule needs of a trace.
enum class Needs : uint8_t {
  kNothing,      ///< not even that the ranks of a job have one clock, as all others do
  kWork,         ///< device work
  kLaunches,     ///< host calls that launched device work
  kCalls,        ///< host calls
  kOccupancy,    ///< launch shapes of kernels, and limits of their device
  kSteps,        ///< steps that the program or its framework marked
  kAllocations,  ///< allocations and frees
  kMemorySize,   ///< allocations on a device whose memory size is known
  kMemoryKinds,  ///< if there are copies: whether host memory is pageable
  kCopySizes,    ///< if there are copies: their bytes
};

struct Rule {
  std::string_view name;
  Needs needs;
  void (*find)(const Context&);
};

/// In the order of docs/findings.md. Rules that share a function follow each other; the first one
/// has it.
constexpr Rule kRules[] = {
    {"race", Needs::kNothing, findRaces},
    {"events-lost", Needs::kNothing, findLosses},
    {"host-late", Needs::kLaunches, findLateHost},
    {"synchronization", Needs::kLaunches, findSynchronization},
    {"launch-bound", Needs::kLaunches, findLaunchBound},
    {"slow-launch", Needs::kLaunches, findSlowLaunches},
    {"allocation", Needs::kLaunches, findAllocations},
    {"build", Needs::kCalls, findBuilds},
    {"idle-unexplained", Needs::kWork, findUnexplainedIdle},
    {"start-and-end", Needs::kLaunches, findStartAndEnd},
    {"communication-exposed", Needs::kWork, findExposedCommunication},
    {"copies-exposed", Needs::kWork, findExposedCopies},
    {"small-copies", Needs::kCopySizes, findSmallCopies},
    {"pageable-copies", Needs::kMemoryKinds, findPageableCopies},
    {"dominant-kernel", Needs::kWork, findDominantKernel},
    {"low-occupancy", Needs::kOccupancy, findLowOccupancy},
    {"tail", Needs::kOccupancy, findTails},
    {"streams-unused", Needs::kOccupancy, findUnusedStreams},
    {"step-variance", Needs::kSteps, findStepVariance},
    {"imbalance", Needs::kWork, findImbalance},
    {kStraggler, Needs::kNothing, findStragglingRanks},
    {"hang", Needs::kNothing, findMisfittingCalls},
    {"memory-growth", Needs::kAllocations, findMemoryGrowth},
    {"memory-peak", Needs::kMemorySize, findMemoryPeaks},
};

/// A smaller predicted gain is no finding.
constexpr double kLeastGain = 0.01;

bool isHostCopy(const CopyTable& copies, size_t row) {
  return copies.kind[row] == CopyKind::kHostToDevice || copies.kind[row] == CopyKind::kDeviceToHost;
}

/// Whether there is no copy between host and device, or one of which `holds` is true.
template <class Holds>
bool noneOrSome(const CopyTable& copies, const Holds& holds) {
  bool any = false;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (!isHostCopy(copies, i)) continue;
    any = true;
    if (holds(i)) return true;
  }
  return !any;
}

bool hasMemorySize(const Trace& trace) {
  const auto& sizes = trace.device.memory_bytes;
  return std::any_of(sizes.begin(), sizes.end(), [](uint64_t bytes) { return bytes > 0; });
}

/// Why a rule cannot be checked; "": it can.
std::string_view missing(const Facts& facts, Needs needs) {
  const Trace& trace = facts.trace;
  if (needs != Needs::kNothing && !facts.one_clock) return "the ranks' clocks were not compared";
  switch (needs) {
    case Needs::kNothing:
      break;
    case Needs::kWork:
      return facts.devices.empty() ? "the trace has no device work" : "";
    case Needs::kLaunches:
      return facts.devices.empty()       ? "the trace has no device work"
             : trace.host_call.empty()   ? "the trace has no API calls"
             : facts.launches_known == 0 ? "no API call of the trace launched its device work"
                                         : "";
    case Needs::kCalls:
      return trace.host_call.empty() ? "the trace has no API calls" : "";
    case Needs::kOccupancy:
      return facts.devices.empty()    ? "the trace has no device work"
             : !facts.occupancy_known ? "launch shapes or the device's limits are not in the trace"
                                      : "";
    case Needs::kSteps:
      return facts.steps.from == Steps::From::kNowhere ||
                     facts.steps.from == Steps::From::kRepeatedKernels
                 ? "the trace marks no steps"
                 : "";
    case Needs::kAllocations:
      return trace.memory_event.empty() ? "the trace has no allocations" : "";
    case Needs::kMemorySize:
      return trace.memory_event.empty() ? "the trace has no allocations"
             : !hasMemorySize(trace)    ? "the size of the device's memory is not in the trace"
                                        : "";
    case Needs::kMemoryKinds: {
      const auto says = [&](size_t row) {
        const std::string_view name = trace.text(trace.copy.name[row]);
        return name.find("Pageable") != std::string_view::npos ||
               name.find("Pinned") != std::string_view::npos;
      };
      return noneOrSome(trace.copy, says) ? "" : "copies do not name the kind of host memory";
    }
    case Needs::kCopySizes:
      return noneOrSome(trace.copy, [&](size_t row) { return trace.copy.bytes[row] > 0; })
                 ? ""
                 : "the sizes of copies are not in the trace";
  }
  return "";
}

/// Runs the rules whose data the trace has. The others are named by reason.
void applyRules(const Context& context) {
  std::vector<std::pair<std::string_view, std::string>> reasons;
  for (const Rule& rule : kRules) {
    if (isCancelled()) return;
    const std::string_view why = missing(context.facts, rule.needs);
    if (why.empty()) {
      rule.find(context);
      continue;
    }
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& reason) { return reason.first == why; });
    if (same == reasons.end()) {
      reasons.emplace_back(why, rule.name);
    } else {
      same->second += fmt::format(", {}", rule.name);
    }
  }
  for (const auto& [why, rules] : reasons) context.notChecked(fmt::format("{}: {}", rules, why));
}

/// The most important first, each followed by those that explain a part of it.
void order(std::vector<Finding>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Finding& a, const Finding& b) {
    const bool a_wrong = a.severity == Severity::kWrong;
    const bool b_wrong = b.severity == Severity::kWrong;
    return a_wrong != b_wrong ? a_wrong : a.possible > b.possible;
  });
  std::vector<Finding> parts;
  for (Finding& finding : list) {
    const bool has_whole = std::any_of(list.begin(), list.end(), [&](const Finding& other) {
      return other.rule == finding.part_of;
    });
    if (!has_whole) finding.part_of.clear();
    if (has_whole) parts.push_back(finding);
  }
  std::erase_if(list, [](const Finding& finding) { return !finding.part_of.empty(); });
  for (size_t i = 0; i < list.size(); ++i) {
    std::string named;
    size_t at = i;
    for (Finding& part : parts) {
      if (part.part_of != list[i].rule) continue;
      named += fmt::format("{}{} {}", named.empty() ? "" : ", ", part.rule,
                           formatPercent(part.share.value_or(0)));
      // The largest part decides what to do, if it is most of the whole and mending it would help.
      const double helps = part.gain.share.value_or(part.share.value_or(0));
      if (at == i && 2 * std::min(helps, part.share.value_or(0)) >= list[i].share.value_or(1)) {
        list[i].advice = part.advice;
      }
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(++at), std::move(part));
    }
    if (!named.empty()) list[i].cause += fmt::format(" Explained below: {} of the run.", named);
    i = at;
  }
}

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

void Context::setGaps(Finding& finding, const GapTotal& gaps) const {
  finding.evidence.rows = gaps.count;
  finding.evidence.text =
      fmt::format("{}, {} together; the longest lasts {}", counted(gaps.count, "gap"),
                  formatDuration(gaps.ns), formatDuration(gaps.longest.length()));
  setPart(finding, gaps.longest.begin_ns, gaps.longest.end_ns);
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

std::string listed(const Facts& facts, const std::vector<CallTime>& calls) {
  constexpr size_t kMost = 3;
  std::string out;
  for (size_t i = 0; i < std::min(kMost, calls.size()); ++i) {
    out += fmt::format("{}{} ({}, {})", i == 0 ? "" : ", ", facts.trace.text(calls[i].name),
                       calls[i].calls, formatDuration(calls[i].ns));
  }
  return out;
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
  if (!RecordingReader::isThere(trace_path)) return;
  Result<RecordingReader> reader = RecordingReader::open(trace_path);
  if (!reader) {
    why_not_ = reader.error().toString();
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

namespace findings {
namespace {

Findings findingsOfFacts(const Facts& facts, GainPredictor& gains, const FindingsOptions& options) {
  Findings out;
  const Context context{facts, options, gains, out};
  applyRules(context);
  if (isCancelled()) return {};
  for (Finding& finding : out.list) {
    if (finding.severity == Severity::kMinor && finding.possible >= kMajorShare) {
      finding.severity = Severity::kMajor;
    }
  }
  order(out.list);
  out.verdict = verdictOf(facts, out.list);
  return out;
}

}  // namespace
}  // namespace findings

Findings findingsOf(const Trace& trace, const FindingsOptions& options) {
  findings::GainPredictor gains(trace, options.file);
  return findings::findingsOfFacts(findings::Facts(trace), gains, options);
}

bool canFindInWork(TraceReader& reader) {
  uint64_t events = 0;
  for (const TableId table :
       {TableId::kKernel, TableId::kCopy, TableId::kFill, TableId::kSync, TableId::kHostCall}) {
    events += reader.rows(table);
  }
  return events > findings::GainPredictor::kMostEvents;
}

Findings findingsOf(const WorkTrace& work, const std::vector<StringId>& kernel_names,
                    const FindingsOptions& options) {
  findings::GainPredictor gains(work.trace, options.file);
  gains.refuse();  // it needs more than WorkTrace has
  return findings::findingsOfFacts(findings::Facts(work, kernel_names), gains, options);
}

}  // namespace tracesmith
