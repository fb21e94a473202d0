// SPDX-License-Identifier: Apache-2.0
// Rules on kernels: one that takes much of the run, low occupancy, unfilled last waves, streams.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/analysis/timing/kernel_occupancy.hpp"
#include "tracesmith/base/human_units.hpp"
#include "tracesmith/findings/rules.hpp"

namespace tracesmith::findings {
namespace {

constexpr double kDominantShare = 0.15;  // of the time from the devices' first to their last work
/// Nsight Compute's rules ask for less than 60 % of the achievable; below a quarter of the warps,
/// latencies are rarely hidden (CUDA C++ Best Practices Guide, "Occupancy").
constexpr double kLowOccupancy = 0.25;
/// Nsight Compute's rule "Tail Effect" (sections/LaunchStatistics.py): a partial wave after at
/// least one full wave that accounts for at least 20 % of the kernel.
constexpr double kLeastTail = 0.2;

/// Whether no other kernel's name matches what selects this one.
template <class Matches>
bool isAlone(const Facts& facts, StringId name, const Matches& matches) {
  return std::none_of(facts.kernels.begin(), facts.kernels.end(), [&](const KernelTotal& kernel) {
    return kernel.name != name && matches(facts.trace.text(kernel.name));
  });
}

/// A selector of all kernels with this name and no others: the function's name, else the shortest
/// of some prefixes that suffices, since names may have thousands of bytes.
/// nullopt: only its whole name, which is long, tells it from the others.
std::optional<std::string> selectorOf(const Facts& facts, StringId name) {
  constexpr size_t kPrefix = 24;
  constexpr size_t kMostBytes = 1024;  // longer commands are not for people, and cost much
  const std::string_view text = facts.trace.text(name);
  std::string label(facts.label(name));
  label.resize(std::min(label.find('<'), label.size()));  // template arguments are abbreviated
  const bool plain = std::all_of(label.begin(), label.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  const auto holdsLabel = [&](std::string_view other) {
    return other.find(label) != std::string_view::npos;
  };
  if (plain && holdsLabel(text) && isAlone(facts, name, holdsLabel)) return "kernel=" + label;
  for (size_t n = kPrefix; n < std::min(text.size(), kMostBytes); n += kPrefix) {
    const std::string_view prefix = text.substr(0, n);
    if (isAlone(facts, name, [&](std::string_view other) { return other.starts_with(prefix); })) {
      std::string out = exactly("kernel", prefix);
      out.pop_back();  // the end of the name
      return out;
    }
  }
  if (text.size() > kMostBytes) return std::nullopt;
  return exactly("kernel", text);
}

/// How far behind the second kernel is.
std::string nextKernel(const Facts& facts) {
  if (facts.kernels.size() < 2) return "The trace has no other kernel.";
  const KernelTotal& next = facts.kernels[1];
  return fmt::format("The next one, {}, takes {} of kernel time.", facts.label(next.name),
                     formatPercent(static_cast<double>(next.total_ns) /
                                   static_cast<double>(facts.all.kernel_sum_ns)));
}

std::string adviceForFamily(KernelFamily family) {
  switch (family) {
    case KernelFamily::kGemm:
    case KernelFamily::kConvolution:
      return "Use a smaller data type and shapes that matrix units take well, and let the library "
             "choose its algorithm by measurement (autotuning).";
    case KernelFamily::kAttention:
      return "Check its data type, sequence lengths and masks (work that a mask discards need not "
             "be done), and whether a newer version of it is faster.";
    case KernelFamily::kNormalization:
    case KernelFamily::kSoftmax:
    case KernelFamily::kElementwise:
    case KernelFamily::kReduction:
    case KernelFamily::kCopy:
      return "Fuse it with its neighbours, so that data are read and written once: by a compiler, "
             "or with a fused kernel of a library (attention, layer norm).";
    default:
      return "Optimize this kernel first: a library's or a compiler's version, another data type "
             "or algorithm, or fusion with its neighbours.";
  }
}

}  // namespace

void findDominantKernel(const Context& context) {
  const Facts& facts = context.facts;
  if (facts.kernels.empty()) return;
  const KernelTotal& first = facts.kernels.front();
  const double share = facts.shareOfRun(first.total_ns);
  const double of_span =
      static_cast<double>(first.total_ns) / static_cast<double>(facts.all.time.span_ns);
  if (of_span < kDominantShare || share < kLeastShare) return;
  const std::string_view label = facts.label(first.name);
  Finding out;
  out.rule = "dominant-kernel";
  const double of_kernels =
      static_cast<double>(first.total_ns) / static_cast<double>(facts.all.kernel_sum_ns);
  out.title = share <= 1 ? fmt::format("One kernel, {}, takes {} of the run ({} of kernel time).",
                                       label, formatPercent(share), formatPercent(of_kernels))
                         : fmt::format("One kernel, {}, takes {} of kernel time.", label,
                                       formatPercent(of_kernels));
  out.cause = nextKernel(facts);
  if (share > 1) {
    out.cause += fmt::format(
        " Its launches run concurrently, {:.1f} at a time on average over the run.", share);
  }
  // Concurrent kernels may take more than the run together.
  out.share = std::min(share, 1.0);
  out.possible = *out.share / 2;
  out.evidence.rows = first.launches;
  out.evidence.text = fmt::format("{} in {}", formatDuration(first.total_ns),
                                  counted(first.launches, "launch", "launches"));
  if (first.launches > 1) {
    out.evidence.text += fmt::format("; the longest takes {}", formatDuration(first.longest_ns));
  }
  out.evidence.command = context.command("analyze", "--kernels --occupancy");
  const DeviceOp& longest = facts.ops.ops[first.longest_op];
  context.setPart(out, longest.begin_ns, longest.end_ns);
  out.advice = adviceForFamily(readKernelName(facts.trace.text(first.name)).family);
  const std::optional<std::string> selector = selectorOf(facts, first.name);
  out.gain = selector ? context.gain({.words = "if it were twice as fast",
                                      .remove = {},
                                      .scale = {*selector + ":0.5"},
                                      .streams = {}})
                      : cannotSay("no short pattern selects this name alone");
  context.addIfFixed(std::move(out));
}

void findLowOccupancy(const Context& context) {
  const Facts& facts = context.facts;
  std::map<std::string_view, int64_t> limits;
  std::map<StringId, int64_t> names;
  int64_t low_ns = 0;
  uint64_t launches = 0;
  for (const DeviceOp& op : facts.ops.ops) {
    const KernelOccupancy* occupancy = facts.occupancyOf(op);
    if (occupancy == nullptr || occupancy->occupancy >= kLowOccupancy) continue;
    const int64_t ns = lengthOf(op.begin_ns, op.end_ns);
    low_ns += ns;
    ++launches;
    limits[occupancy->limit] += ns;
    names[op.name] += ns;
  }
  const double share = facts.shareOfRun(facts.coveredBy([&](const DeviceOp& op) {
    const KernelOccupancy* occupancy = facts.occupancyOf(op);
    return occupancy != nullptr && occupancy->occupancy < kLowOccupancy;
  }));
  if (share < kLeastShare) return;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto limit = std::max_element(limits.begin(), limits.end(), less);
  const auto name = std::max_element(names.begin(), names.end(), less);
  Finding out;
  out.rule = "low-occupancy";
  out.title = fmt::format("Kernels with an occupancy below {} take {} of the run.",
                          formatPercent(kLowOccupancy), formatPercent(share));
  out.cause = fmt::format("Mostly limited by {}; the longest are {}.", limit->first,
                          facts.label(name->first));
  out.share = share;
  // Occupancy alone does not decide the speed, so this comes after what is certain to save time.
  out.possible = 0;
  out.evidence.rows = launches;
  out.evidence.text = fmt::format("{}, {} together", counted(launches, "launch", "launches"),
                                  formatDuration(low_ns));
  out.evidence.command = context.command("analyze", "--occupancy");
  out.advice =
      "Check with a kernel profiler whether latency limits them; if so, use less of the limiting "
      "resource. Matrix products often run best at low occupancy.";
  out.gain = cannotSay("occupancy does not determine the speed of a kernel");
  context.add(std::move(out));
}

void findTails(const Context& context) {
  const Facts& facts = context.facts;
  double lost_ns = 0;
  uint64_t launches = 0;
  std::map<StringId, double> names;
  for (const DeviceOp& op : facts.ops.ops) {
    const KernelOccupancy* occupancy = facts.occupancyOf(op);
    if (occupancy == nullptr || occupancy->waves < 1) continue;
    const double whole = std::floor(occupancy->waves);
    // With equally long blocks, each wave takes as long, also the last one.
    const double last_wave = 1 / (whole + 1);
    const double empty = whole + 1 - occupancy->waves;
    if (empty >= 1 || last_wave < kLeastTail) continue;
    const double lost = empty * last_wave * static_cast<double>(lengthOf(op.begin_ns, op.end_ns));
    lost_ns += lost;
    ++launches;
    names[op.name] += lost;
  }
  const double share = facts.shareOfRun(static_cast<int64_t>(lost_ns));
  if (share < kLeastShare) return;
  const auto most = std::max_element(
      names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  Finding out;
  out.rule = "tail";
  out.title = fmt::format("Last waves that do not fill the device leave {} of the run unused.",
                          formatPercent(share));
  out.cause = fmt::format(
      "The blocks of {} fill the device 1 to {} times, and then a part of it. Most is lost in {}.",
      counted(launches, "launch", "launches"), std::floor(1 / kLeastTail) - 1,
      facts.label(most->first));
  out.share = std::min(share, 1.0);
  out.possible = *out.share;
  out.evidence.rows = launches;
  out.evidence.text = formatDuration(static_cast<int64_t>(lost_ns)) +
                      " of kernel time, if all blocks take equally long";
  out.evidence.command = context.command("analyze", "--occupancy");
  out.advice =
      "Choose grids that are multiples of a wave, smaller blocks, a persistent kernel, or run "
      "other work beside them.";
  out.gain = cannotSay("blocks of one kernel may take different times, which the trace lacks");
  context.add(std::move(out));
}

void findUnusedStreams(const Context& context) {
  const Facts& facts = context.facts;
  std::map<DeviceId, std::set<StreamId>> streams;
  int64_t small_ns = 0;
  uint64_t small = 0;
  for (const DeviceOp& op : facts.ops.ops) {
    if (op.table != TableId::kKernel || op.work != WorkClass::kCompute) continue;
    streams[facts.trace.deviceOf(op.stream)].insert(op.stream);
    const KernelOccupancy* occupancy = facts.occupancyOf(op);
    if (occupancy == nullptr || occupancy->waves <= 0 || occupancy->waves > 0.5) continue;
    small_ns += lengthOf(op.begin_ns, op.end_ns);
    ++small;
  }
  for (const auto& [device, used] : streams) {
    if (used.size() > 1) return;
  }
  const double share = facts.shareOfRun(small_ns);
  if (share < kMajorShare) return;
  Finding out;
  out.rule = "streams-unused";
  out.title = fmt::format(
      "Kernels that fill at most half of the device take {} of the run, in a single stream.",
      formatPercent(share));
  out.cause = "Kernels of one stream run one after the other, even if two would fit.";
  out.share = std::min(share, 1.0);
  out.possible = *out.share / 2;
  out.evidence.rows = small;
  out.evidence.text = fmt::format("{}, {} together", counted(small, "launch", "launches"),
                                  formatDuration(small_ns));
  out.evidence.command = context.command("analyze", "--streams --occupancy");
  out.advice = "Launch independent kernels in several streams, or use larger batches.";
  out.gain = context.gain({.words = "with two streams, if all kernels were independent",
                           .remove = {},
                           .scale = {},
                           .streams = 2});
  context.addIfFixed(std::move(out));
}

}  // namespace tracesmith::findings
