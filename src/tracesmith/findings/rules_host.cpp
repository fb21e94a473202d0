// SPDX-License-Identifier: Apache-2.0
// Rules on idle time that the host causes: late launches, waits that drain the device, launch
// costs, slow launches, allocations.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

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
constexpr uint64_t kLeastAllocations = 10;

struct CallTime {
  StringId name{};
  uint32_t row = 0;  ///< one of the calls
  uint64_t calls = 0;
  int64_t ns = 0;
};

/// What launching threads did during gaps: time by the name of the outermost call, the longest
/// first.
struct HostActivity {
  std::vector<CallTime> calls;
  int64_t outside_ns = 0;  ///< in no call
  int64_t total_ns = 0;
};

template <class Keep>
HostActivity activityIn(const Facts& facts, const Keep& keep) {
  std::map<StringId, CallTime> by_name;
  std::unordered_set<uint32_t> seen;  // a call may lie in gaps of several devices
  HostActivity out;
  for (const Gap& gap : facts.gaps) {
    if (gap.cause != GapCause::kHostLate && gap.cause != GapCause::kInLaunch) continue;
    const uint32_t launch = facts.ops.ops[gap.after].launch;
    const ThreadId thread = facts.trace.host_call.thread_id[launch];
    int64_t in_calls = 0;
    facts.forEachCallIn(thread, gap.begin_ns, gap.end_ns, [&](uint32_t row, int64_t ns) {
      in_calls += ns;
      if (!keep(row)) return;
      CallTime& of = by_name[facts.trace.host_call.name[row]];
      of.name = facts.trace.host_call.name[row];
      of.row = row;
      of.calls += seen.insert(row).second ? 1u : 0u;
      of.ns += ns;
    });
    out.total_ns += gap.length();
    out.outside_ns += std::max<int64_t>(gap.length() - in_calls, 0);
  }
  for (const auto& [name, of] : by_name) out.calls.push_back(of);
  std::stable_sort(out.calls.begin(), out.calls.end(),
                   [](const CallTime& a, const CallTime& b) { return a.ns > b.ns; });
  return out;
}

double part(int64_t ns, int64_t whole) {
  return whole > 0 ? static_cast<double>(ns) / static_cast<double>(whole) : 0;
}

/// "own code for 71.0 %, cudaFree for 12.0 %".
std::string inWords(const Facts& facts, const HostActivity& activity) {
  constexpr size_t kMostCalls = 3;
  std::string out = fmt::format("outside of API calls for {}",
                                formatPercent(part(activity.outside_ns, activity.total_ns)));
  for (size_t i = 0; i < std::min(kMostCalls, activity.calls.size()); ++i) {
    const double share = part(activity.calls[i].ns, activity.total_ns);
    if (share < kLeastShare) break;
    out += fmt::format(", in {} for {}", facts.trace.text(activity.calls[i].name),
                       formatPercent(share));
  }
  return out;
}

std::string adviceFor(const Facts& facts, const HostActivity& activity) {
  if (2 * activity.outside_ns > activity.total_ns || activity.calls.empty()) {
    return "Do less on the host between launches: prepare inputs in other threads, launch ahead, "
           "capture repeated launches in a graph, or compile the model.";
  }
  const uint32_t row = activity.calls.front().row;
  if (facts.trace.host_call.kind[row] == CallKind::kLaunch) {
    return "Launch earlier and less often: fuse small kernels, or capture them in a graph. Run "
           "each "
           "kernel once before the part that matters, since first launches take long.";
  }
  return fmt::format("Call {} outside of the loop, or make it asynchronous.",
                     facts.trace.text(activity.calls.front().name));
}

const Gap* longest(const Facts& facts, GapCause cause) {
  const Gap* out = nullptr;
  for (const Gap& gap : facts.gaps) {
    if (gap.cause == cause && (out == nullptr || gap.length() > out->length())) out = &gap;
  }
  return out;
}

/// Sum of what calls of one kind took of the gaps.
struct KindTime {
  int64_t ns = 0;
  uint64_t calls = 0;
  std::vector<CallTime> names;
};
template <class Keep>
KindTime timeOf(const Facts& facts, const Keep& keep) {
  KindTime out;
  out.names = activityIn(facts, keep).calls;
  for (const CallTime& call : out.names) {
    out.ns += call.ns;
    out.calls += call.calls;
  }
  return out;
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
  const int64_t late = facts.all.gap_ns[static_cast<size_t>(GapCause::kHostLate)];
  const double share = facts.shareOfRun(late);
  if (share < kLeastShare) return;
  const HostActivity activity = activityIn(facts, [](uint32_t) { return true; });
  Finding out;
  out.rule = "host-late";
  out.title =
      fmt::format("The host was late: devices idled {} of the run before work was launched.",
                  formatPercent(share));
  out.cause = "During the idle time, the launching threads were " + inWords(facts, activity) + ".";
  out.share = out.possible = share;
  uint64_t gaps = 0;
  for (const Gap& gap : facts.gaps) gaps += gap.cause == GapCause::kHostLate;
  const Gap* worst = longest(facts, GapCause::kHostLate);
  out.evidence.rows = gaps;
  out.evidence.text = fmt::format("{}, {} together; the longest lasts {}", counted(gaps, "gap"),
                                  formatDuration(late), formatDuration(worst->length()));
  out.evidence.command = context.command("analyze", "--idle --hotspots");
  context.setPart(out, worst->begin_ns, worst->end_ns);
  out.advice = adviceFor(facts, activity);
  out.gain = context.gain({.words = "if the host were twice as fast",
                           .remove = {},
                           .scale = {"host:0.5", "call=.:0.5"},
                           .streams = {}});
  context.add(std::move(out));
}

void findSynchronization(const Context& context) {
  const Facts& facts = context.facts;
  const HostCallTable& calls = facts.trace.host_call;
  std::map<StringId, CallTime> by_name;
  std::map<StringId, const Gap*> worst;
  std::unordered_set<uint32_t> seen;
  for (const Gap& gap : facts.gaps) {
    if (gap.cause != GapCause::kHostLate) continue;
    const DeviceOp& before = facts.ops.ops[gap.before];
    const uint32_t launch = facts.ops.ops[gap.after].launch;
    const uint32_t call = facts.callAt(calls.thread_id[launch], gap.begin_ns);
    if (call == DeviceOp::kNone) continue;
    // The call was waiting when the device became idle: for the device, or for its own copy.
    const bool waits = calls.kind[call] == CallKind::kSync ||
                       (calls.kind[call] == CallKind::kCopy && call == before.launch);
    if (!waits || facts.ops.call_begin_ns[call] >= before.end_ns) continue;
    CallTime& of = by_name[calls.name[call]];
    of.name = calls.name[call];
    of.calls += seen.insert(call).second ? 1u : 0u;
    of.ns += gap.length();
    const Gap*& longest_gap = worst[of.name];
    if (longest_gap == nullptr || gap.length() > longest_gap->length()) longest_gap = &gap;
  }
  for (const auto& [name, of] : by_name) {
    const double share = facts.shareOfRun(of.ns);
    if (share < kLeastShare) continue;
    const std::string text(facts.trace.text(name));
    Finding out;
    out.rule = "synchronization";
    out.title = fmt::format("After {} of {}, the device idles: {} of the run.",
                            counted(of.calls, "call"), text, formatPercent(share));
    out.cause =
        "The host waits until the device has nothing left to do, and only then launches the next "
        "work.";
    out.share = out.possible = share;
    out.evidence.rows = of.calls;
    out.evidence.text = fmt::format("{} of idle time start within the call", formatDuration(of.ns));
    const std::string exact = exactly("call", text);
    out.evidence.command = context.command(
        "view", "-t host_call --name " + shellQuoted(exact.substr(exact.find('^'))));
    context.setPart(out, worst[name]->begin_ns, worst[name]->end_ns);
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
  int64_t lost = 0;
  uint64_t gaps = 0;
  uint64_t short_kernels = 0;
  std::map<StringId, CallTime> launches;
  const Gap* first = nullptr;
  const Gap* last = nullptr;
  for (const Gap& gap : facts.gaps) {
    const DeviceOp& op = facts.ops.ops[gap.after];
    if (gap.cause != GapCause::kHostLate && gap.cause != GapCause::kInLaunch) continue;
    if (op.table != TableId::kKernel || gap.length() >= kLaunchCostNs) continue;
    lost += gap.length();
    ++gaps;
    const int64_t call_ns = facts.ops.call_end_ns[op.launch] - facts.ops.call_begin_ns[op.launch];
    short_kernels += lengthOf(op.begin_ns, op.end_ns) < call_ns;
    CallTime& of = launches[facts.trace.host_call.name[op.launch]];
    of.name = facts.trace.host_call.name[op.launch];
    ++of.calls;
    of.ns += call_ns;
    if (first == nullptr) first = &gap;
    last = &gap;
  }
  const double share = facts.shareOfRun(lost);
  if (share < kLeastShare || gaps < kLeastLaunches) return;
  std::vector<CallTime> names;
  for (const auto& [name, of] : launches) names.push_back(of);
  Finding out;
  out.rule = "launch-bound";
  out.title = fmt::format("Kernels are too short for their launches: {} of the run are short gaps.",
                          formatPercent(share));
  out.cause = fmt::format(
      "{} gaps below {} come before kernels that the host had not yet launched; {} of these "
      "kernels "
      "run shorter than their launch call.",
      formatCount(gaps), formatDuration(kLaunchCostNs), formatCount(short_kernels));
  out.share = out.possible = share;
  out.evidence.rows = gaps;
  out.evidence.text = fmt::format("{}, {} on average", formatDuration(lost),
                                  formatDuration(lost / static_cast<int64_t>(gaps)));
  out.evidence.command = context.command("analyze", "--launch --idle");
  context.setPart(out, first->begin_ns, last->end_ns);
  out.advice =
      "Launch fewer, larger kernels: fuse elementwise operations (a compiler does this), use "
      "larger batches, or capture the sequence in a graph (CUDA graph, HIP graph).";
  out.gain = context.gain({.words = "if launch calls took no time",
                           .remove = {},
                           .scale = {anyOf(facts, names) + ":0"},
                           .streams = {}});
  context.addIfFixed(std::move(out));
}

void findSlowLaunches(const Context& context) {
  const Facts& facts = context.facts;
  const HostCallTable& calls = facts.trace.host_call;
  const KindTime slow = timeOf(facts, [&](uint32_t row) {
    return calls.kind[row] == CallKind::kLaunch &&
           facts.ops.call_end_ns[row] - facts.ops.call_begin_ns[row] >= kSlowLaunchNs;
  });
  const double share = facts.shareOfRun(slow.ns);
  if (share < kLeastShare) return;
  Finding out;
  out.rule = "slow-launch";
  out.title = fmt::format("Launch calls of 1 ms or more keep devices idle for {} of the run.",
                          formatPercent(share));
  out.cause =
      "A launch takes microseconds. One that takes milliseconds loads or compiles code at the "
      "first use of a kernel, or waits for room in a full queue.";
  out.share = out.possible = share;
  out.evidence.rows = slow.calls;
  out.evidence.text = "idle time during these calls: " + listed(facts, slow.names);
  out.evidence.command = context.command("analyze", "--hotspots --launch");
  out.advice =
      "Run each kernel once before the part that matters (warm-up), or load code eagerly "
      "(CUDA_MODULE_LOADING=EAGER), and leave the first steps out of measurements.";
  out.gain = cannotSay("the model has no cost of a first launch apart from other launches");
  context.add(std::move(out));
}

void findAllocations(const Context& context) {
  const Facts& facts = context.facts;
  const KindTime memory = timeOf(
      facts, [&](uint32_t row) { return facts.trace.host_call.kind[row] == CallKind::kMemory; });
  const double share = facts.shareOfRun(memory.ns);
  if (share < kLeastShare || memory.calls < kLeastAllocations) return;
  Finding out;
  out.rule = "allocation";
  out.title = fmt::format("Allocating and freeing memory keeps devices idle for {} of the run.",
                          formatPercent(share));
  out.cause =
      "Memory is allocated or freed between work. Such calls take long, and several of them wait "
      "for the device.";
  out.share = out.possible = share;
  out.evidence.rows = memory.calls;
  out.evidence.text = "idle time during these calls: " + listed(facts, memory.names);
  out.evidence.command = context.command("analyze", "--memory --hotspots");
  out.advice =
      "Allocate before the loop and reuse buffers, or use a memory pool (a caching allocator, "
      "cudaMallocAsync).";
  out.gain = context.gain({.words = "without these calls",
                           .remove = {anyOf(facts, memory.names)},
                           .scale = {},
                           .streams = {}});
  context.addIfFixed(std::move(out));
}

void findBuilds(const Context& context) {
  const Facts& facts = context.facts;
  const HostCallTable& calls = facts.trace.host_call;
  std::map<StringId, CallTime> by_name;
  std::vector<Interval> intervals;  // of all threads, which may build at the same time
  uint64_t count = 0;
  int64_t first_work = INT64_MAX;
  for (const DeviceFacts& device : facts.devices) {
    first_work = std::min(first_work, device.time.begin_ns);
  }
  uint64_t during = 0;
  for (const ThreadCalls& thread : facts.threads) {
    for (const uint32_t row : thread.rows) {
      if (calls.kind[row] != CallKind::kBuild) continue;
      const Interval interval{facts.ops.call_begin_ns[row], facts.ops.call_end_ns[row]};
      intervals.push_back(interval);
      ++count;
      during += interval.begin_ns > first_work;
      CallTime& of = by_name[calls.name[row]];
      of.name = calls.name[row];
      ++of.calls;
      of.ns += lengthOf(interval.begin_ns, interval.end_ns);
    }
  }
  const double share = facts.shareOfHost(coveredNs(std::move(intervals)));
  if (share < kLeastShare) return;
  std::vector<CallTime> names;
  for (const auto& [name, of] : by_name) names.push_back(of);
  std::stable_sort(names.begin(), names.end(),
                   [](const CallTime& a, const CallTime& b) { return a.ns > b.ns; });
  Finding out;
  out.rule = "build";
  out.title = fmt::format("Compiling or loading device code takes {} of the host's time.",
                          formatPercent(share));
  out.cause = during == 0 ? counted(count, "build") + ", before the first device work."
                          : fmt::format("{}, of which {} after the first device work started.",
                                        counted(count, "build"), formatCount(during));
  out.share = out.possible = share;
  out.evidence.rows = count;
  out.evidence.text = listed(facts, names);
  out.evidence.command = context.command("analyze", "--hotspots");
  out.advice =
      "Compile once and keep the binary (cl_program binaries, a kernel cache), and build all "
      "programs before the loop.";
  out.gain = context.gain({.words = "without these calls",
                           .remove = {anyOf(facts, names)},
                           .scale = {},
                           .streams = {}});
  context.addIfFixed(std::move(out));
}

void findUnexplainedIdle(const Context& context) {
  const Facts& facts = context.facts;
  const int64_t unknown = facts.all.gap_ns[static_cast<size_t>(GapCause::kLaunchUnknown)];
  const double share = facts.shareOfRun(unknown);
  if (share < kLeastShare) return;
  const Gap* worst = longest(facts, GapCause::kLaunchUnknown);
  uint64_t gaps = 0;
  for (const Gap& gap : facts.gaps) gaps += gap.cause == GapCause::kLaunchUnknown;
  Finding out;
  out.rule = "idle-unexplained";
  out.title = fmt::format("Devices idled {} of the run, and the trace does not show why.",
                          formatPercent(share));
  out.cause = facts.launches_known == 0
                  ? "The trace has no host calls that launched this work."
                  : "The launches of the work after these gaps are not in the trace.";
  out.share = out.possible = share;
  out.evidence.rows = gaps;
  out.evidence.text = fmt::format("{}, {} together; the longest lasts {}", counted(gaps, "gap"),
                                  formatDuration(unknown), formatDuration(worst->length()));
  out.evidence.command = context.command("analyze", "--idle --gpu-util");
  context.setPart(out, worst->begin_ns, worst->end_ns);
  out.advice =
      "Record API calls as well (rocprofv3 --hip-trace, nsys -t cuda, PyTorch's CPU activity), "
      "and start the recording before the first launch.";
  out.gain = cannotSay("what the work waited for is unknown");
  context.add(std::move(out));
}

}  // namespace tracesmith::findings
