// SPDX-License-Identifier: Apache-2.0
// Rules on the run as a whole: its start and end, steps of different length, devices of different
// load, memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "tracesmith/analysis/timing/step_finder.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/findings/rules.hpp"
#include "tracesmith/model/live_memory.hpp"
#include "tracesmith/model/names/device_names.hpp"

namespace tracesmith::findings {
namespace {

constexpr double kLeastStartAndEnd = 0.05;
constexpr size_t kLeastSteps = 4;
constexpr double kLongStep = 1.1;        // of the median step
constexpr double kLeastImbalance = 0.1;  // of the busiest device
constexpr double kFullMemory = 0.9;      // of the device's
constexpr size_t kParts = 4;             // of the run, for growth of memory

int64_t medianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string placeName(const Trace& trace, DeviceId device) {
  return device == DeviceId::kNone ? "the host" : deviceName(trace, device);
}

/// The parts of the run before the first and after the last work of each device.
struct StartAndEnd {
  int64_t start_ns = 0;  ///< sums over devices
  int64_t end_ns = 0;
  int64_t in_calls_ns = 0;  ///< any thread is in a call
  std::vector<CallTime> calls;
  uint64_t count = 0;
  Interval longest;

  explicit StartAndEnd(const Facts& facts) {
    CallTimes times(facts.trace);
    for (const DeviceFacts& device : facts.devices) {
      const int64_t first = device.time.begin_ns;
      const int64_t last = endOf(first, device.time.span_ns);
      start_ns += lengthOf(facts.run_begin_ns, first);
      end_ns += lengthOf(last, facts.run_end_ns);
      for (const Interval part : {Interval{facts.run_begin_ns, first}, {last, facts.run_end_ns}}) {
        addCalls(facts, part, times);
        if (lengthOf(part.begin_ns, part.end_ns) > lengthOf(longest.begin_ns, longest.end_ns)) {
          longest = part;
        }
      }
    }
    calls = times.list();
    count = times.calls();
  }

 private:
  void addCalls(const Facts& facts, Interval part, CallTimes& times) {
    std::vector<Interval> of_calls;
    for (const ThreadCalls& thread : facts.threads) {
      facts.forEachCallIn(thread.thread, part.begin_ns, part.end_ns, [&](uint32_t row, int64_t ns) {
        const int64_t from = std::max(part.begin_ns, facts.ops.calls.beginNs(row));
        of_calls.push_back({from, endOf(from, ns)});
        times.add(row, ns);
      });
    }
    in_calls_ns += coveredNs(std::move(of_calls));
  }
};

/// The lowest number of live bytes in each quarter of the run, of one device.
std::array<uint64_t, kParts> lowestByPart(const MemoryCurve& curve, int64_t begin_ns,
                                          int64_t end_ns) {
  std::array<uint64_t, kParts> lowest{};
  lowest.fill(UINT64_MAX);
  const int64_t length = std::max<int64_t>(end_ns - begin_ns, 1);
  uint64_t live = 0;
  size_t part = 0;
  for (size_t i = 0; i < curve.bytes.size(); ++i) {
    const auto at = static_cast<size_t>(std::clamp<double>(
        static_cast<double>(curve.times_ns[i] - begin_ns) / static_cast<double>(length) * kParts, 0,
        kParts - 1));
    // What was live before the first event of a part was live at its start.
    for (; part <= at; ++part) lowest[part] = std::min(lowest[part], live);
    live = curve.bytes[i];
    lowest[at] = std::min(lowest[at], live);
  }
  for (; part < kParts; ++part) lowest[part] = std::min(lowest[part], live);
  return lowest;
}

void findLeak(const Context& context, const MemoryCurve& curve, const std::string& place) {
  if (curve.times_ns.size() < 2 * kParts) return;
  const int64_t begin = curve.times_ns.front();
  const int64_t end = curve.times_ns.back();
  const auto lowest = lowestByPart(curve, begin, end);
  // The first part is the start of the program, where memory is expected to grow.
  for (size_t i = 2; i < kParts; ++i) {
    if (lowest[i] <= lowest[i - 1]) return;
  }
  const uint64_t peak = *std::max_element(curve.bytes.begin(), curve.bytes.end());
  const uint64_t grown = lowest.back() - lowest[1];
  if (static_cast<double>(grown) < 0.05 * static_cast<double>(peak)) return;
  Finding out;
  out.rule = "memory-growth";
  out.title = fmt::format("Memory of {} grows during the run: by {} from its second quarter on.",
                          place, formatBytes(grown));
  out.cause = "The least that is allocated at any time rises in each quarter of the run.";
  out.evidence.rows = curve.bytes.size();
  out.evidence.text = fmt::format("at least {}, then {}, then {}", formatBytes(lowest[1]),
                                  formatBytes(lowest[2]), formatBytes(lowest[3]));
  out.evidence.command = context.command("analyze", "--memory");
  context.setPart(out, begin, end);
  out.advice = "Look for results that are kept by each step; release them, or keep only numbers.";
  out.gain = cannotSay("memory does not take time until it runs out");
  context.add(std::move(out));
}

void findPeak(const Context& context, const MemoryTotals& totals, const std::string& place) {
  const auto i = static_cast<size_t>(totals.device);
  if (i == 0 || i > context.trace().device.size()) return;
  const uint64_t size = context.trace().device.memory_bytes[i - 1];
  const double used =
      size > 0 ? static_cast<double>(totals.peak_bytes) / static_cast<double>(size) : 0;
  if (used < kFullMemory) return;
  Finding out;
  out.rule = "memory-peak";
  out.title = fmt::format("Allocations reach {} of the memory of {}.", formatPercent(used), place);
  out.cause = fmt::format("{} of {} are allocated at the peak.", formatBytes(totals.peak_bytes),
                          formatBytes(size));
  out.evidence.rows = totals.allocations;
  out.evidence.text = counted(totals.allocations, "allocation");
  out.evidence.command = context.command("analyze", "--memory");
  context.setPart(out, totals.peak_ns, totals.peak_ns);
  out.advice = "Free earlier, recompute activations, use a smaller batch or smaller types.";
  out.gain = cannotSay("memory does not take time until it runs out");
  context.add(std::move(out));
}

}  // namespace

void findStartAndEnd(const Context& context) {
  const Facts& facts = context.facts;
  const StartAndEnd parts(facts);
  const double share = facts.shareOfRun(parts.start_ns + parts.end_ns);
  if (share < kLeastStartAndEnd) return;
  const double in_calls = facts.shareOfRun(parts.in_calls_ns);
  Finding out;
  out.rule = kStartAndEnd;
  out.title = fmt::format("Devices have no work at the start and the end of the run: {} of it.",
                          formatPercent(share));
  out.cause = fmt::format(
      "{} is before the first device work and {} after the last. API calls take {} of the run "
      "there; the rest is the host's own code.",
      formatPercent(facts.shareOfRun(parts.start_ns)),
      formatPercent(facts.shareOfRun(parts.end_ns)), formatPercent(in_calls));
  out.share = share;
  out.possible = in_calls / 2;  // a longer run has a start and an end only once as well
  out.evidence.rows = parts.count;
  out.evidence.text = parts.calls.empty() ? "no API call lies there"
                                          : "longest API calls: " + listed(facts, parts.calls);
  out.evidence.command = context.command("view", "--timeline");
  context.setPart(out, parts.longest.begin_ns, parts.longest.end_ns);
  out.advice =
      "If only the steps between matter, record only these (profile --range, the schedule of "
      "PyTorch's profiler). Otherwise start device work earlier, and look at the host's own code "
      "(profile --system).";
  out.gain = cannotSay("the simulation changes device work and its launches, and none are there");
  context.add(std::move(out));
}

void findStepVariance(const Context& context) {
  const Facts& facts = context.facts;
  const std::vector<Step>& steps = facts.steps.all;
  if (steps.size() < kLeastSteps) {
    context.notChecked(fmt::format("step-variance: the trace has {}, and {} are needed",
                                   counted(steps.size(), "step"), kLeastSteps));
    return;
  }
  std::vector<int64_t> lengths;
  for (const Step& step : steps) lengths.push_back(step.duration());
  const int64_t median = medianOf(lengths);
  std::vector<int64_t> busy(steps.size(), 0);
  const StepFinder finder(facts.steps, facts.ops);
  for (const DeviceOp& op : facts.ops.ops) {
    const size_t step = op.work == WorkClass::kOther ? steps.size() : finder.stepOf(op);
    if (step < steps.size()) busy[step] += lengthOf(op.begin_ns, op.end_ns);
  }
  const int64_t median_busy = medianOf(busy);
  int64_t excess = 0, excess_busy = 0;
  uint64_t longer = 0;
  size_t worst = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (static_cast<double>(lengths[i]) < kLongStep * static_cast<double>(median)) continue;
    ++longer;
    excess += lengths[i] - median;
    excess_busy += std::max<int64_t>(busy[i] - median_busy, 0);
    if (lengths[i] > lengths[worst]) worst = i;
  }
  const double share = std::min(facts.shareOfTime(excess), 1.0);  // steps of threads may overlap
  if (longer == 0 || share < kLeastShare) return;
  Finding out;
  out.rule = "step-variance";
  out.title = fmt::format("{} of {} take longer than the median step: {} of the run.",
                          formatCount(longer), counted(steps.size(), "step"), formatPercent(share));
  const bool by_device = 2 * excess_busy > excess;
  out.cause = by_device
                  ? "In the longer steps, the device has more work, or the same work takes longer."
                  : "In the longer steps, the device has about as much work: the host, or a wait, "
                    "takes the rest.";
  if (worst == 0 && longer == 1) out.cause += " It is the first step, which warms up.";
  out.share = out.possible = share;
  out.evidence.rows = longer;
  out.evidence.text =
      fmt::format("the longest, {}, takes {}; the median is {}", steps[worst].nameIn(facts.trace),
                  formatDuration(lengths[worst]), formatDuration(median));
  out.evidence.command = context.command("analyze", "--steps --limit 0");
  context.setPart(out, steps[worst].begin_ns, steps[worst].end_ns);
  out.advice = by_device ? "Compare the kernels of a long and a short step; input sizes may differ."
                         : "Look at what the host did in a long step: data loading, logging, "
                           "evaluation, checkpoints, garbage collection.";
  out.gain = cannotSay("the model does not remove a single step's delay");
  context.add(std::move(out));
}

void findImbalance(const Context& context) {
  const Facts& facts = context.facts;
  if (facts.devices.size() < 2) return;
  const auto less = [](const DeviceFacts& a, const DeviceFacts& b) {
    return a.time.compute_ns < b.time.compute_ns;
  };
  const auto [least, most] = std::minmax_element(facts.devices.begin(), facts.devices.end(), less);
  int64_t missing = 0;
  for (const DeviceFacts& device : facts.devices) {
    missing += most->time.compute_ns - device.time.compute_ns;
  }
  const double share = facts.shareOfRun(missing);
  const double difference = most->time.compute_ns > 0
                                ? 1 - static_cast<double>(least->time.compute_ns) /
                                          static_cast<double>(most->time.compute_ns)
                                : 0;
  if (difference < kLeastImbalance || share < kLeastShare) return;
  Finding out;
  out.rule = "imbalance";
  out.title = fmt::format("Devices have different loads: the least busy computes {} less.",
                          formatPercent(difference));
  out.cause = fmt::format(
      "{} computes for {}, {} for {}.", deviceName(facts.trace, most->time.device),
      formatDuration(most->time.compute_ns), deviceName(facts.trace, least->time.device),
      formatDuration(least->time.compute_ns));
  // With equal loads, each device would compute as long as the mean does now: the part of the run
  // by which the busiest exceeds it.
  out.share = out.possible = share;
  out.evidence.rows = facts.devices.size();
  out.evidence.text = counted(facts.devices.size(), "device");
  out.evidence.command = context.command("analyze", "--gpu-util");
  out.advice = "Divide the work (batch, layers, experts) so that all devices compute equally long.";
  out.gain = cannotSay("the model does not move work between devices");
  context.add(std::move(out));
}

void findMemoryGrowth(const Context& context) {
  for (const MemoryCurve& curve : memoryCurves(context.trace())) {
    findLeak(context, curve, placeName(context.trace(), curve.device));
  }
}

void findMemoryPeaks(const Context& context) {
  for (const MemoryTotals& totals : memoryUsage(context.trace()).places) {
    findPeak(context, totals, placeName(context.trace(), totals.device));
  }
}

}  // namespace tracesmith::findings
