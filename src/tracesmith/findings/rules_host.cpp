// SPDX-License-Identifier: Apache-2.0
// Rules on idle time that the host causes: late launches, waits that drain the device, launch
// costs, slow launches, allocations.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tracesmith/analysis/host_time/late_host.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/base/shell_words.hpp"
#include "tracesmith/findings/rules.hpp"

namespace tracesmith::findings {
namespace {

/// Shorter gaps before work that was launched late are about the cost of a launch: a threshold of
/// this project.
constexpr int64_t kLaunchCostNs = 100'000;
constexpr uint64_t kLeastLaunches = 50;
/// A launch that takes this long does something else than launching.
constexpr int64_t kSlowLaunchNs = 1'000'000;
/// Gaps that are longer on average are no cost of launches.
constexpr int64_t kLongGapNs = 1'000'000;
/// A call that takes longer on average does what only a first call does, or waits.
constexpr int64_t kLongCallNs = 10'000'000;
constexpr uint64_t kLeastAllocations = 10;

enum class Gaps : uint8_t {
  kLate,        ///< those of host-late
  kLateOrSlow,  ///< also those in which a launching call takes long
};

/// What launching threads did during gaps: time by the name of the outermost call.
struct GapActivity {
  std::vector<CallTime> calls;  ///< the longest first
  uint64_t count = 0;
  int64_t in_calls_ns = 0;
  int64_t outside_ns = 0;  ///< in no call
  int64_t total_ns = 0;
  /// At least half of the time in these calls is in gaps of host-late, so they are parts of it.
  bool is_late = false;
};

/// Of calls that `keep` chooses. A call may lie in gaps of several devices.
template <class Keep>
GapActivity activityIn(const Facts& facts, Gaps gaps, const Keep& keep) {
  CallTimes times(facts.trace);
  GapActivity out;
  int64_t late_ns = 0;
  facts.forEachGap([&](const Gap& gap) {
    const bool slow = gap.cause == GapCause::kInLaunch && gaps == Gaps::kLateOrSlow;
    if (gap.cause != GapCause::kHostLate && !slow) return;
    const uint32_t launch = facts.ops.ops[gap.after].launch;
    const ThreadId thread = facts.trace.host_call.thread_id[launch];
    int64_t in_calls = 0;
    facts.forEachCallIn(thread, gap.begin_ns, gap.end_ns, [&](uint32_t row, int64_t ns) {
      in_calls += ns;
      if (!keep(row)) return;
      times.add(row, ns);
      if (gap.cause == GapCause::kHostLate) late_ns += ns;
    });
    out.total_ns += gap.length();
    out.outside_ns += std::max<int64_t>(gap.length() - in_calls, 0);
  });
  out.calls = times.list();
  out.count = times.calls();
  out.in_calls_ns = times.totalNs();
  out.is_late = 2 * late_ns >= out.in_calls_ns;
  return out;
}

double part(int64_t ns, int64_t whole) {
  return whole > 0 ? static_cast<double>(ns) / static_cast<double>(whole) : 0;
}

/// "in the program's own code (outside of API calls) for 71.0 % of these gaps, in cudaFree for 12.0
/// %".
std::string inWords(const Facts& facts, const GapActivity& activity) {
  constexpr size_t kMostCalls = 3;
  std::string out =
      fmt::format("in the program's own code (outside of API calls) for {} of these gaps",
                  formatPercent(part(activity.outside_ns, activity.total_ns)));
  for (size_t i = 0; i < std::min(kMostCalls, activity.calls.size()); ++i) {
    const double share = part(activity.calls[i].ns, activity.total_ns);
    if (share < kLeastShare) break;
    out += fmt::format(", in {} for {}", facts.trace.text(activity.calls[i].name),
                       formatPercent(share));
  }
  return out;
}

/// " They were waiting for 38.0 %, computing for 17.0 %, ..., longest in prepareInput (17.0 %).";
/// "" if the trace does not say it.
std::string asSampled(const Facts& facts) {
  constexpr size_t kMostCauses = 4;
  const HostActivity activity(facts.trace);
  if (activity.empty()) return {};
  std::vector<LateGap> gaps;
  facts.forEachGap([&](const Gap& gap) {
    if (gap.cause != GapCause::kHostLate) return;
    const uint32_t launch = facts.ops.ops[gap.after].launch;
    gaps.push_back({gap.begin_ns, facts.ops.calls.beginNs(launch), gap.end_ns,
                    facts.trace.host_call.thread_id[launch]});
  });
  const LateHost late = activity.explain(gaps);
  std::string out;
  for (size_t i = 0; i < std::min(kMostCauses, late.causes.size()); ++i) {
    const LateCause& cause = late.causes[i];
    const double share = part(cause.ns, late.total_ns);
    if (share < kLeastShare) break;
    out += fmt::format("{}{}{} for {}", out.empty() ? " They were " : ", ", toString(cause.cause),
                       cause.detail.empty() ? "" : " (" + cause.detail + ")", formatPercent(share));
  }
  if (out.empty()) return out;
  const std::map<std::string, int64_t> by_function = timeByFunction(facts.trace, late);
  const auto longest =
      std::max_element(by_function.begin(), by_function.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (longest != by_function.end() && part(longest->second, late.total_ns) >= kLeastShare) {
    out += fmt::format(", longest in {} ({})", longest->first,
                       formatPercent(part(longest->second, late.total_ns)));
  }
  return out + ".";
}

std::string adviceFor(const Facts& facts, const GapActivity& activity, const GapTotal& late) {
  if (2 * activity.outside_ns > activity.total_ns || activity.calls.empty()) {
    if (late.ns / static_cast<int64_t>(late.count) >= kLongGapNs) {
      const std::string find_out =
          !hasHostActivity(facts.trace)
              ? "Find out what the program does on the host in the longest gaps, with "
                "profile --system (loading or preparing data, reading results, logging). "
              : "";
      return find_out + "Do it in another thread, or before the run, and launch ahead.";
    }
    return "Do less on the host between launches: prepare inputs in other threads, launch ahead, "
           "capture repeated launches in a graph, or compile the model.";
  }
  const uint32_t row = activity.calls.front().row;
  if (facts.trace.host_call.kind[row] == CallKind::kLaunch) {
    return "Launch earlier and less often: fuse small kernels, or capture them in a graph. Run "
           "each kernel once before the part that matters, since first launches take long.";
  }
  const CallTime& call = activity.calls.front();
  const std::string_view name = facts.trace.text(call.name);
  if (call.ns / static_cast<int64_t>(call.calls) >= kLongCallNs) {
    return fmt::format(
        "Find out why {} takes so long. The first call of a kind loads and initializes code: do "
        "that before the part that matters, and leave the first steps out of measurements.",
        name);
  }
  return fmt::format("Call {} outside of the loop, or make it asynchronous.", name);
}

std::string anyOf(const Facts& facts, const std::vector<CallTime>& calls) {
  std::string names;
  for (const CallTime& call : calls) {
    const std::string exact = exactly("call", facts.trace.text(call.name));
    names += (names.empty() ? "" : "|") + exact.substr(exact.find('^'));
  }
  return "call=" + names;
}

}  // namespace

void findLateHost(const Context& context) {
  const Facts& facts = context.facts;
  const GapTotal& late = facts.gapsOf(GapCause::kHostLate);
  const double share = facts.shareOfRun(late.ns);
  if (share < kLeastShare) return;
  const GapActivity activity = activityIn(facts, Gaps::kLate, [](uint32_t) { return true; });
  Finding out;
  out.rule = kHostLate;
  out.title =
      fmt::format("The host was late: devices idled {} of the run before work was launched.",
                  formatPercent(share));
  out.cause = "The launching threads were " + inWords(facts, activity) + "." + asSampled(facts);
  out.share = out.possible = share;
  context.setGaps(out, late);
  out.evidence.command = context.command("analyze", "--idle --hotspots");
  out.advice = adviceFor(facts, activity, late);
  out.gain = context.gain({.words = "if the host were twice as fast",
                           .remove = {},
                           .scale = {"host:0.5", "call=.:0.5"},
                           .streams = {}});
  context.add(std::move(out));
}

void findSynchronization(const Context& context) {
  const Facts& facts = context.facts;
  const HostCallTable& calls = facts.trace.host_call;
  CallTimes times(facts.trace);
  std::map<StringId, GapTotal> gaps_after;
  std::map<StringId, int64_t> in_calls;  // of the launching thread, in the gaps
  facts.forEachGap([&](const Gap& gap) {
    if (gap.cause != GapCause::kHostLate) return;
    const DeviceOp& before = facts.ops.ops[gap.before];
    const uint32_t launch = facts.ops.ops[gap.after].launch;
    const uint32_t call = facts.callAt(calls.thread_id[launch], gap.begin_ns);
    if (call == DeviceOp::kNone) return;
    // The call was waiting when the device became idle: for the device, or for its own copy.
    const bool waits = calls.kind[call] == CallKind::kSync ||
                       (calls.kind[call] == CallKind::kCopy && call == before.launch);
    if (!waits || facts.ops.calls.beginNs(call) >= before.end_ns) return;
    times.add(call, gap.length());
    facts.forEachCallIn(calls.thread_id[launch], gap.begin_ns, gap.end_ns,
                        [&](uint32_t, int64_t ns) { in_calls[calls.name[call]] += ns; });
    gaps_after[calls.name[call]].add(gap);
  });
  for (const CallTime& of : times.list()) {
    const double share = facts.shareOfRun(of.ns);
    if (share < kLeastShare) continue;
    const std::string text(facts.trace.text(of.name));
    Finding out;
    out.rule = "synchronization";
    out.part_of = kHostLate;
    out.title = fmt::format("After {} of {}, the device idles: {} of the run.",
                            counted(of.calls, "call"), text, formatPercent(share));
    out.cause = fmt::format(
        "The host waits until the device has nothing left to do, and only then prepares and "
        "launches the next work. For {} of this idle time it is in the program's own code.",
        formatPercent(1 - part(in_calls[of.name], of.ns)));
    out.share = out.possible = share;
    context.setGaps(out, gaps_after[of.name]);
    const std::string exact = exactly("call", text);
    out.evidence.command = context.command(
        "view", "-t host_call --name " + shellQuoted(exact.substr(exact.find('^'))));
    out.advice =
        "Read results later, or in a copy that does not block (pinned memory, asynchronous), so "
        "that the next work is launched while this one runs.";
    out.gain = context.gain({.words = "if these calls did not wait",
                             .remove = {exactly("call", text)},
                             .scale = {},
                             .streams = {}});
    context.addIfFixed(std::move(out));
  }
}

void findLaunchBound(const Context& context) {
  const Facts& facts = context.facts;
  const auto isShort = [&](const Gap& gap) {
    return facts.ops.ops[gap.after].table == TableId::kKernel && gap.length() < kLaunchCostNs;
  };
  int64_t late = 0;
  int64_t slow = 0;
  facts.forEachGap([&](const Gap& gap) {
    if (gap.cause == GapCause::kHostLate && isShort(gap)) late += gap.length();
    if (gap.cause == GapCause::kInLaunch && isShort(gap)) slow += gap.length();
  });
  // A part of host-late has no gaps that are none of host-late.
  const bool is_part = late >= slow;
  int64_t lost = 0;
  uint64_t gaps = 0;
  uint64_t short_kernels = 0;
  CallTimes launches(facts.trace);
  Gap first, last;
  facts.forEachGap([&](const Gap& gap) {
    if (gap.cause != GapCause::kHostLate && (is_part || gap.cause != GapCause::kInLaunch)) return;
    if (!isShort(gap)) return;
    const DeviceOp& op = facts.ops.ops[gap.after];
    lost += gap.length();
    if (gaps++ == 0) first = gap;
    last = gap;
    const int64_t call_ns = facts.ops.calls.endNs(op.launch) - facts.ops.calls.beginNs(op.launch);
    short_kernels += lengthOf(op.begin_ns, op.end_ns) < call_ns;
    launches.add(op.launch, call_ns);
  });
  const double share = facts.shareOfRun(lost);
  if (share < kLeastShare || gaps < kLeastLaunches) return;
  Finding out;
  out.rule = "launch-bound";
  if (is_part) out.part_of = kHostLate;
  out.title = fmt::format(
      "{} of the run is lost in short gaps: the host had not yet launched the next kernel.",
      formatPercent(share));
  out.cause =
      fmt::format("{} gaps below {} come before kernels that the host had not yet launched.",
                  formatCount(gaps), formatDuration(kLaunchCostNs));
  if (2 * short_kernels >= gaps) {
    out.cause += fmt::format(" {} of these kernels run shorter than their launch call.",
                             formatCount(short_kernels));
  }
  out.share = out.possible = share;
  out.evidence.rows = gaps;
  out.evidence.text = fmt::format("{}, {} on average", formatDuration(lost),
                                  formatDuration(lost / static_cast<int64_t>(gaps)));
  out.evidence.command = context.command("analyze", "--launch --idle");
  context.setPart(out, first.begin_ns, last.end_ns);
  out.advice =
      "Launch fewer, larger kernels: fuse elementwise operations (a compiler does this), use "
      "larger batches, or capture the sequence in a graph (CUDA graph, HIP graph).";
  out.gain = context.gain({.words = "if launch calls took no time",
                           .remove = {},
                           .scale = {anyOf(facts, launches.list()) + ":0"},
                           .streams = {}});
  context.addIfFixed(std::move(out));
}

void findSlowLaunches(const Context& context) {
  const Facts& facts = context.facts;
  const HostCallTable& calls = facts.trace.host_call;
  const GapActivity slow = activityIn(facts, Gaps::kLateOrSlow, [&](uint32_t row) {
    return calls.kind[row] == CallKind::kLaunch &&
           facts.ops.calls.endNs(row) - facts.ops.calls.beginNs(row) >= kSlowLaunchNs;
  });
  const double share = facts.shareOfRun(slow.in_calls_ns);
  if (share < kLeastShare) return;
  Finding out;
  out.rule = "slow-launch";
  if (slow.is_late) out.part_of = kHostLate;
  out.title = fmt::format("Launch calls of 1 ms or more keep devices idle for {} of the run.",
                          formatPercent(share));
  out.cause =
      "A launch takes microseconds. One that takes milliseconds loads or compiles code at the "
      "first use of a kernel, or waits for room in a full queue.";
  out.share = out.possible = share;
  out.evidence.rows = slow.count;
  out.evidence.text = "idle time during these calls: " + listed(facts, slow.calls);
  out.evidence.command = context.command("analyze", "--hotspots --launch");
  out.advice =
      "Run each kernel once before the part that matters (warm-up), or load code eagerly "
      "(CUDA_MODULE_LOADING=EAGER), and leave the first steps out of measurements.";
  out.gain = cannotSay("the model has no cost of a first launch apart from other launches");
  context.add(std::move(out));
}

void findAllocations(const Context& context) {
  const Facts& facts = context.facts;
  const GapActivity memory = activityIn(facts, Gaps::kLateOrSlow, [&](uint32_t row) {
    return facts.trace.host_call.kind[row] == CallKind::kMemory;
  });
  const double share = facts.shareOfRun(memory.in_calls_ns);
  if (share < kLeastShare || memory.count < kLeastAllocations) return;
  Finding out;
  out.rule = "allocation";
  if (memory.is_late) out.part_of = kHostLate;
  out.title = fmt::format("Allocating and freeing memory keeps devices idle for {} of the run.",
                          formatPercent(share));
  out.cause =
      "Memory is allocated or freed between work. Such calls take long, and several of them wait "
      "for the device.";
  out.share = out.possible = share;
  out.evidence.rows = memory.count;
  out.evidence.text = "idle time during these calls: " + listed(facts, memory.calls);
  out.evidence.command = context.command("analyze", "--memory --hotspots");
  out.advice =
      "Allocate before the loop and reuse buffers, or use a memory pool (a caching allocator, "
      "cudaMallocAsync).";
  out.gain = context.gain({.words = "without these calls",
                           .remove = {anyOf(facts, memory.calls)},
                           .scale = {},
                           .streams = {}});
  context.addIfFixed(std::move(out));
}

void findBuilds(const Context& context) {
  const Facts& facts = context.facts;
  const HostCallTable& calls = facts.trace.host_call;
  CallTimes times(facts.trace);
  std::vector<Interval> intervals;  // of all threads, which may build at the same time
  int64_t first_work = INT64_MAX;
  for (const DeviceFacts& device : facts.devices) {
    first_work = std::min(first_work, device.time.begin_ns);
  }
  uint64_t during = 0;
  int64_t before_ns = 0;  // of builds that end before it
  for (const ThreadCalls& thread : facts.threads) {
    for (const uint32_t row : thread.rows) {
      if (calls.kind[row] != CallKind::kBuild) continue;
      const Interval interval{facts.ops.calls.beginNs(row), facts.ops.calls.endNs(row)};
      intervals.push_back(interval);
      const int64_t length = lengthOf(interval.begin_ns, interval.end_ns);
      during += interval.begin_ns > first_work;
      if (interval.end_ns <= first_work) before_ns += length;
      times.add(row, length);
    }
  }
  const double share = facts.shareOfTime(coveredNs(std::move(intervals)));
  if (share < kLeastShare) return;
  const GapActivity in_gaps = activityIn(
      facts, Gaps::kLateOrSlow, [&](uint32_t row) { return calls.kind[row] == CallKind::kBuild; });
  Finding out;
  out.rule = "build";
  // Builds before the first device work are in no gap.
  if (in_gaps.is_late && 2 * in_gaps.in_calls_ns >= times.totalNs()) out.part_of = kHostLate;
  if (2 * before_ns >= times.totalNs()) out.part_of = kStartAndEnd;
  out.title =
      fmt::format("Compiling or loading device code takes {} of the run.", formatPercent(share));
  out.cause = during == 0 ? counted(times.calls(), "build") + ", before the first device work."
                          : fmt::format("{}, of which {} after the first device work started.",
                                        counted(times.calls(), "build"), formatCount(during));
  out.share = out.possible = share;
  out.evidence.rows = times.calls();
  out.evidence.text = listed(facts, times.list());
  out.evidence.command = context.command("analyze", "--hotspots");
  out.advice =
      "Compile once and keep the binary (cl_program binaries, a kernel cache), and build all "
      "programs before the first use of the device.";
  out.gain = context.gain({.words = "without these calls",
                           .remove = {anyOf(facts, times.list())},
                           .scale = {},
                           .streams = {}});
  context.addIfFixed(std::move(out));
}

void findUnexplainedIdle(const Context& context) {
  const Facts& facts = context.facts;
  const GapTotal& unknown = facts.gapsOf(GapCause::kLaunchUnknown);
  const double share = facts.shareOfRun(unknown.ns);
  if (share < kLeastShare) return;
  Finding out;
  out.rule = "idle-unexplained";
  out.title = fmt::format("Devices idled {} of the run, and the trace does not show why.",
                          formatPercent(share));
  out.cause = facts.launches_known == 0
                  ? "The trace has no host calls that launched this work."
                  : "The launches of the work after these gaps are not in the trace.";
  out.share = out.possible = share;
  context.setGaps(out, unknown);
  out.evidence.command = context.command("analyze", "--idle --gpu-util");
  out.advice =
      "Record API calls as well (rocprofv3 --hip-trace, nsys -t cuda, PyTorch's CPU activity), "
      "and start the recording before the first launch.";
  out.gain = cannotSay("what the work waited for is unknown");
  context.add(std::move(out));
}

}  // namespace tracesmith::findings
