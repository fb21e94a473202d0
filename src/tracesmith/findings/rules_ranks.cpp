// SPDX-License-Identifier: Apache-2.0
// Rules on jobs of several ranks: those that others wait for, that never came to a collective, or
// whose calls do not fit those of others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tracesmith/analysis/communication/comm_hangs.hpp"
#include "tracesmith/analysis/communication/comm_mismatches.hpp"
#include "tracesmith/analysis/stragglers/stragglers.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/findings/rules.hpp"

namespace tracesmith::findings {
namespace {

constexpr size_t kMostNamed = 8;

/// "rank 3", "ranks 3, 5 and 4 others".
std::string rankNames(const std::vector<std::string>& labels, std::string_view last_word) {
  std::string names = labels.size() == 1 ? "rank " : "ranks ";
  const size_t named = std::min(labels.size(), kMostNamed);
  const size_t others = labels.size() - named;
  for (size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == named && others == 0;
    names += (i == 0 ? "" : is_last ? fmt::format(" {} ", last_word) : ", ") + labels[i];
  }
  return others == 0 ? names : names + fmt::format(" {} {} others", last_word, others);
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string adviceOn(StragglerKind kind) {
  switch (kind) {
    case StragglerKind::kSlowDevice:
      return "Look at the clocks, temperature and power limit of its device, and at what else runs "
             "there; then exchange it.";
    case StragglerKind::kMoreWork:
      return "Distribute the work evenly: sizes of batches, sequences, layers or domains.";
    case StragglerKind::kLateHost:
      return "See what its host does between launches: the findings of the trace of this rank "
             "alone, and profile --stacks.";
    case StragglerKind::kSlowHost:
      return "See what its host does: profile --stacks, and what else runs there.";
    case StragglerKind::kSlowLink:
      return "Look at the link's errors and speed, and at how ranks are placed on hosts.";
  }
  return "";
}

/// How far the replay of the job misses its length, as the longest rank's own clock has it.
double replayError(const StragglerReport& report) {
  int64_t longest = 0;
  for (uint32_t rank = 0; rank < report.timeline.lanes.size(); ++rank) {
    const auto lane = report.timeline.laneOf(rank);
    if (lane.empty()) continue;
    longest = std::max(longest, lengthOf(lane.front().begin_ns,
                                         endOf(lane.back().begin_ns, lane.back().duration_ns)));
  }
  if (longest == 0) return 0;
  return std::abs(static_cast<double>(report.length_ns) / static_cast<double>(longest) - 1);
}

Finding stragglerFinding(const Context& context, const StragglerReport& report,
                         const Straggler& straggler) {
  std::vector<std::string> labels;
  for (const uint32_t rank : straggler.ranks) labels.push_back(report.timeline.labels[rank]);
  const std::string ranks = rankNames(labels, "or");
  Finding out;
  out.rule = kStraggler;
  out.title = fmt::format("Other ranks wait for {} ({}): {} of the job.", ranks,
                          toString(straggler.kind), formatPercent(straggler.gain_share));
  out.cause = capitalized(straggler.evidence) + ".";
  out.evidence.rows = report.timeline.parts.size();
  out.evidence.text =
      fmt::format("{} ranks over {}, by what they communicate", report.timeline.ranks.size(),
                  counted(report.steps.count, "step"));
  out.evidence.command = context.command("analyze", "");
  out.share = straggler.gain_share;
  out.possible = straggler.gain_share;
  out.advice = adviceOn(straggler.kind);
  out.gain.share = straggler.gain_share;
  out.gain.error = replayError(report);
  out.gain.change = straggler.kind == StragglerKind::kSlowLink
                        ? "if its transfers took as long as those of others"
                        : "if its own work took as long as that of a typical rank";
  return out;
}

class CallsOfRanks {
 public:
  explicit CallsOfRanks(const Context& context)
      : context_(context),
        communicators_(context.trace()),
        operations_(commOperations(context.trace(), communicators_, context.facts.ops)),
        sets_(collectiveSets(context.trace(), operations_, communicators_)) {}

  void findHangs() const {
    const CommHangs found = commHangs(context_.trace(), operations_, communicators_, sets_);
    for (const CommHang& hang : found.hangs) {
      if (hang.is_certain) context_.add(hangFinding(hang));
    }
  }

  void findMismatches() const {
    for (const CommMismatch& mismatch :
         collectiveMismatches(context_.trace(), operations_, communicators_, sets_)) {
      switch (mismatch.kind) {
        case CommMismatchKind::kSize:
        case CommMismatchKind::kDataType:
        case CommMismatchKind::kReduction:
        case CommMismatchKind::kRoot:
        case CommMismatchKind::kOrder:
          context_.add(mismatchFinding(mismatch));
          break;
        default:  // what the trace lacks; `analyze --comm` shows them
          break;
      }
    }
  }

 private:
  std::string communicatorName(uint32_t communicator) const {
    return communicator == CommOperation::kNone
               ? ""
               : fmt::format(" of {}", communicators_.all[communicator].label);
  }

  std::string namesOf(const std::vector<uint32_t>& whos) const {
    std::vector<std::string> labels;
    for (const uint32_t who : whos) labels.push_back(communicators_.ranks()[who].label);
    return rankNames(labels, "and");
  }

  std::string callName(StringId function, uint64_t sequence) const {
    return fmt::format("{} #{}", context_.trace().text(function), sequence);
  }

  /// "ncclAllReduce #3 of world", "a call that never returned, after MPI_Bcast #2 of world".
  std::string callOf(const CommHang& hang) const {
    if (hang.function != StringId::kNone) {
      return callName(hang.function, hang.sequence) + communicatorName(hang.communicator);
    }
    if (hang.after == CommOperation::kNone) return "a call that never returned";
    const CommOperation& before = operations_[hang.after];
    return fmt::format("a call that never returned, after {}{}",
                       callName(before.function, context_.trace().comm.sequence[before.row]),
                       communicatorName(before.communicator));
  }

  Finding hangFinding(const CommHang& hang) const {
    const bool all_came = hang.missing.empty();
    Finding out;
    out.rule = "hang";
    out.severity = Severity::kWrong;
    out.title = fmt::format(
        "{} {} in {}; {}.", capitalized(namesOf(hang.waiting)),
        hang.waiting.size() == 1 ? "waits" : "wait", callOf(hang),
        hang.absent > 0 && all_came
            ? counted(hang.absent, "other rank") + " gave no data, or is not in the trace"
        : all_came ? "all that the trace has came to it"
                   : namesOf(hang.missing) + " never came to it");
    out.cause = all_came && hang.absent > 0
                    ? "Those that the trace knows of came; nothing is known of the others."
                : all_came ? "All ranks of the trace are in the call, and none has ended it."
                           : "Those in the call cannot end it before all have come.";
    out.evidence.rows = hang.waiting.size();
    out.evidence.text = counted(hang.waiting.size(), "rank") + " in the call";
    out.evidence.command = context_.command("analyze", "--comm");
    if (context_.facts.one_clock) context_.setPart(out, hang.since_ns, hang.since_ns);
    out.advice = all_came && hang.absent > 0
                     ? "Look at the ranks that nothing is known of first: whether they run, and "
                       "where they are."
                 : all_came
                     ? "Look at the device and the network of the ranks: the last work of the call "
                       "in the table comm_work."
                     : "See what those that never came did last, and where: tracesmith analyze "
                       "--comm names the call and its stack.";
    out.possible = 1;
    out.gain = cannotSay("the job does not end");
    return out;
  }

  Finding mismatchFinding(const CommMismatch& mismatch) const {
    const std::string_view function = context_.trace().text(mismatch.function);
    Finding out;
    out.rule = "collective-mismatch";
    out.severity = Severity::kWrong;
    out.title = fmt::format("Ranks called {}{} differently ({}): {}.", function,
                            communicatorName(mismatch.communicator), toString(mismatch.kind),
                            mismatch.example);
    out.cause = "All ranks of a communicator have to make the same calls in the same order.";
    out.evidence.rows = mismatch.count;
    out.evidence.text = counted(mismatch.count, "call") + " of this kind";
    out.evidence.command = context_.command("analyze", "--comm");
    out.advice = "Make the calls agree: such a job hangs, or its results are wrong.";
    out.gain = cannotSay("it is about results, not time");
    return out;
  }

  const Context& context_;
  JobCommunicators communicators_;
  std::vector<CommOperation> operations_;
  CollectiveSets sets_;
};

}  // namespace

void findStragglingRanks(const Context& context) {
  if (context.trace().comm.empty()) return;
  const StragglerReport report = findStragglers(context.trace(), context.facts.ops);
  for (const Straggler& straggler : report.stragglers) {
    if (straggler.gain_share < kLeastShare) continue;
    context.add(stragglerFinding(context, report, straggler));
  }
}

void findMisfittingCalls(const Context& context) {
  if (context.trace().comm.empty()) return;
  const CallsOfRanks calls(context);
  calls.findHangs();
  calls.findMismatches();
}

}  // namespace tracesmith::findings
