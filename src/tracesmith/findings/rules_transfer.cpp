// SPDX-License-Identifier: Apache-2.0
// Rules on communication and copies.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/emulate/name_selector.hpp"
#include "tracesmith/findings/rules.hpp"

namespace tracesmith::findings {
namespace {

/// CUDA C++ Best Practices Guide, "Data Transfer Between Host and Device": batch many small
/// transfers. At 64 KiB the fixed cost of a transfer (about 10 us) still exceeds its own time.
constexpr uint64_t kSmallBytes = 64 * 1024;
constexpr uint64_t kLeastSmallCopies = 100;

struct Longest {
  const DeviceOp* op = nullptr;
  uint64_t count = 0;
  int64_t total_ns = 0;
};

template <class Keep>
Longest longestOf(const Facts& facts, const Keep& keep) {
  Longest out;
  for (const DeviceOp& op : facts.ops.ops) {
    if (!keep(op)) continue;
    ++out.count;
    out.total_ns += lengthOf(op.begin_ns, op.end_ns);
    if (out.op == nullptr || op.end_ns - op.begin_ns > out.op->end_ns - out.op->begin_ns) {
      out.op = &op;
    }
  }
  return out;
}

/// ", 51.2 GiB host to device at 54.9 GiB/s": the kind of copy that takes most time. "" if its size
/// is unknown.
std::string longestKind(const Facts& facts) {
  struct Total {
    uint64_t bytes = 0;
    int64_t ns = 0;
  };
  std::map<CopyKind, Total> totals;
  for (const DeviceOp& op : facts.ops.ops) {
    if (op.table != TableId::kCopy) continue;
    Total& total = totals[facts.trace.copy.kind[op.row]];
    total.bytes += facts.trace.copy.bytes[op.row];
    total.ns += lengthOf(op.begin_ns, op.end_ns);
  }
  const auto most =
      std::max_element(totals.begin(), totals.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (most == totals.end() || most->second.bytes == 0 || most->second.ns <= 0) return "";
  const double seconds = static_cast<double>(most->second.ns) / 1e9;
  const auto rate = static_cast<uint64_t>(static_cast<double>(most->second.bytes) / seconds);
  std::string kind(toString(most->first));
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return fmt::format(", {} {} at {}/s", formatBytes(most->second.bytes), kind, formatBytes(rate));
}

bool isPageable(const Trace& trace, const DeviceOp& op) {
  return op.table == TableId::kCopy &&
         trace.text(trace.copy.name[op.row]).find("Pageable") != std::string_view::npos;
}

}  // namespace

void findExposedCommunication(const Context& context) {
  const Facts& facts = context.facts;
  const int64_t alone = facts.all.communication_alone_ns;
  const double share = facts.shareOfRun(alone);
  if (share < kLeastShare) return;
  const Longest all =
      longestOf(facts, [](const DeviceOp& op) { return op.work == WorkClass::kCommunication; });
  Finding out;
  out.rule = "communication-exposed";
  out.title = fmt::format("Communication that no compute overlaps takes {} of the run.",
                          formatPercent(share));
  const double exposed = static_cast<double>(alone) /
                         static_cast<double>(std::max<int64_t>(facts.all.time.communication_ns, 1));
  out.cause = fmt::format(
      "{} of {} of communication ({}) run without compute. A collective's time includes its wait "
      "for the other ranks.",
      formatDuration(alone), formatDuration(facts.all.time.communication_ns),
      formatPercent(exposed));
  out.share = out.possible = share;
  out.evidence.rows = all.count;
  out.evidence.text = fmt::format("{}; the longest takes {}", counted(all.count, "operation"),
                                  formatDuration(all.op->end_ns - all.op->begin_ns));
  out.evidence.command = context.command("analyze", "--overlap --comm");
  context.setPart(out, all.op->begin_ns, all.op->end_ns);
  out.advice =
      "Start collectives earlier and beside compute (buckets during the backward pass, "
      "prefetched shards), send less, and check the ranks for stragglers.";
  out.gain = context.gain({.words = "if communication took no time",
                           .remove = {std::string(NameSelector::kCommunication)},
                           .scale = {},
                           .streams = {}});
  context.add(std::move(out));
}

void findExposedCopies(const Context& context) {
  const Facts& facts = context.facts;
  const int64_t alone = facts.all.copies_alone_ns;
  const double share = facts.shareOfRun(alone);
  if (share < kLeastShare) return;
  const Longest all =
      longestOf(facts, [](const DeviceOp& op) { return op.work == WorkClass::kMemory; });
  Finding out;
  out.rule = "copies-exposed";
  out.title =
      fmt::format("Copies that no kernel overlaps take {} of the run.", formatPercent(share));
  out.cause = fmt::format("{} of {} of copies and fills run while no kernel does.",
                          formatDuration(alone), formatDuration(facts.all.time.memory_ns));
  if (facts.devices.size() > 1) {
    out.cause += fmt::format(" These are sums over {} devices.", facts.devices.size());
  }
  out.share = out.possible = share;
  out.evidence.rows = all.count;
  out.evidence.text = fmt::format(
      "{}{}; the longest takes {}", counted(all.count, "copy or fill", "copies and fills"),
      longestKind(facts), formatDuration(all.op->end_ns - all.op->begin_ns));
  out.evidence.command = context.command("analyze", "--overlap --memcpy");
  context.setPart(out, all.op->begin_ns, all.op->end_ns);
  const int64_t kernels = facts.all.time.compute_ns + facts.all.time.communication_ns;
  out.advice = 2 * kernels < alone
                   ? fmt::format(
                         "Keep data on the device, copy less, or copy faster (pinned memory, "
                         "fewer and larger copies). Kernels take only {}, so overlap can "
                         "hide no more than that.",
                         formatDuration(kernels))
                   : "Copy the next input in a stream of its own while kernels run (pinned memory, "
                     "prefetch), keep data on the device, or copy less.";
  out.gain = context.gain(
      {.words = "if copies took no time", .remove = {"copy=.*"}, .scale = {}, .streams = {}});
  context.add(std::move(out));
}

void findSmallCopies(const Context& context) {
  const Facts& facts = context.facts;
  const auto is_small = [&](const DeviceOp& op) {
    if (op.table != TableId::kCopy) return false;
    const CopyKind kind = facts.trace.copy.kind[op.row];
    const uint64_t bytes = facts.trace.copy.bytes[op.row];
    return bytes > 0 && bytes < kSmallBytes &&
           (kind == CopyKind::kHostToDevice || kind == CopyKind::kDeviceToHost);
  };
  const Longest small = longestOf(facts, is_small);
  const double share = facts.shareOfRun(facts.coveredBy(is_small));
  if (small.count < kLeastSmallCopies || share < kLeastShare) return;
  Finding out;
  out.rule = "small-copies";
  out.title = fmt::format("{} below {} between host and device take {} of the run.",
                          counted(small.count, "copy", "copies"), formatBytes(kSmallBytes),
                          formatPercent(share));
  out.cause = "Each transfer has a fixed cost, which exceeds the time for so few bytes.";
  out.share = out.possible = share;
  out.evidence.rows = small.count;
  out.evidence.text = formatDuration(small.total_ns) + " together";
  out.evidence.command = context.command("analyze", "--memcpy");
  context.setPart(out, small.op->begin_ns, small.op->end_ns);
  out.advice = "Pack small values into one buffer and copy them at once.";
  out.gain = cannotSay("the model has no change that merges copies");
  context.add(std::move(out));
}

void findPageableCopies(const Context& context) {
  const Facts& facts = context.facts;
  const auto is_pageable = [&](const DeviceOp& op) { return isPageable(facts.trace, op); };
  const Longest pageable = longestOf(facts, is_pageable);
  const double share = facts.shareOfRun(facts.coveredBy(is_pageable));
  if (pageable.op == nullptr || share < kLeastShare) return;
  Finding out;
  out.rule = "pageable-copies";
  out.title = fmt::format("Copies from or to pageable host memory take {} of the run.",
                          formatPercent(share));
  out.cause =
      "The driver copies pageable memory through a buffer of its own, which is slower, and the "
      "call waits for it.";
  out.share = out.possible = share;
  out.evidence.rows = pageable.count;
  out.evidence.text = fmt::format("{}, {} together", counted(pageable.count, "copy", "copies"),
                                  formatDuration(pageable.total_ns));
  out.evidence.command = context.command("view", "-t copy --name Pageable");
  context.setPart(out, pageable.op->begin_ns, pageable.op->end_ns);
  out.advice = "Use pinned host memory (cudaHostAlloc, pin_memory=True) and asynchronous copies.";
  out.gain = cannotSay("the trace has no bandwidth of pinned copies to compare with");
  context.add(std::move(out));
}

}  // namespace tracesmith::findings
