// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/clock_map.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tracesmith {
namespace {

// The product of two 64-bit factors needs 128 bits; 64-bit time stamps times rates such as
// 1000/1024 do too.
using Wide = __int128;
using UnsignedWide = unsigned __int128;

/// No machine has that many clocks; a larger id can only result from damage.
constexpr uint32_t kMaxDomains = 1u << 16;

int64_t saturate(Wide v) {
  constexpr Wide kLow = std::numeric_limits<int64_t>::min();
  constexpr Wide kHigh = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(v, kLow, kHigh));
}

/// a * b / c rounded to nearest, for b and c of up to 64 bits; c must not be 0.
Wide scale(Wide a, uint64_t b, uint64_t c) {
  const bool negative = a < 0;
  const auto magnitude = static_cast<UnsignedWide>(negative ? -a : a);  // at most 2^64
  // The quotient and the remainder are scaled separately, so that no product exceeds 128 bits.
  const UnsignedWide whole = magnitude / c;
  const UnsignedWide rest = magnitude % c;
  const UnsignedWide limit = static_cast<UnsignedWide>(1) << 100;
  const UnsignedWide product = b != 0 && whole > limit / b ? limit : whole * b;
  const UnsignedWide result = product + (rest * b + c / 2) / c;
  return negative ? -static_cast<Wide>(result) : static_cast<Wide>(result);
}

}  // namespace

ClockCurve::ClockCurve(std::vector<Snapshot> snapshots, uint64_t numerator, uint64_t denominator)
    : snapshots_(std::move(snapshots)),
      numerator_(numerator == 0 ? 1 : numerator),
      denominator_(denominator == 0 ? 1 : denominator) {
  // A negative bound is meaningless; it can only result from damage.
  for (Snapshot& snapshot : snapshots_) snapshot.error_ns = std::max<int64_t>(snapshot.error_ns, 0);
  std::sort(snapshots_.begin(), snapshots_.end(), [](const Snapshot& a, const Snapshot& b) {
    return a.clock_value != b.clock_value ? a.clock_value < b.clock_value : a.error_ns < b.error_ns;
  });
  // Of several snapshots with the same clock value, keep the most exact one.
  snapshots_.erase(std::unique(snapshots_.begin(), snapshots_.end(),
                               [](const Snapshot& a, const Snapshot& b) {
                                 return a.clock_value == b.clock_value;
                               }),
                   snapshots_.end());
}

HostTime ClockCurve::toHost(int64_t clock_value) const {
  if (snapshots_.empty()) {
    return {saturate(scale(clock_value, numerator_, denominator_)),
            std::numeric_limits<int64_t>::max()};
  }
  const auto after = std::lower_bound(
      snapshots_.begin(), snapshots_.end(), clock_value,
      [](const Snapshot& snapshot, int64_t value) { return snapshot.clock_value < value; });
  if (after != snapshots_.end() && after->clock_value == clock_value) {
    return {after->host_ns, after->error_ns};
  }
  if (after == snapshots_.begin() || after == snapshots_.end()) {
    const Snapshot& nearest = after == snapshots_.begin() ? *after : *std::prev(after);
    const Wide ticks = Wide{clock_value} - nearest.clock_value;
    const Wide distance = scale(ticks, numerator_, denominator_);
    const Wide drift = scale(distance < 0 ? -distance : distance, kMaxDriftPpm, 1'000'000) + 1;
    return {saturate(nearest.host_ns + distance), saturate(nearest.error_ns + drift)};
  }
  const Snapshot& a = *std::prev(after);
  const Snapshot& b = *after;
  const auto span = static_cast<uint64_t>(b.clock_value) - static_cast<uint64_t>(a.clock_value);
  const auto part = static_cast<uint64_t>(clock_value) - static_cast<uint64_t>(a.clock_value);
  const Wide host_span = Wide{b.host_ns} - a.host_ns;
  int64_t error = std::max(a.error_ns, b.error_ns);
  // Host time does not run backwards; if two snapshots say so, they contradict each other by that
  // much.
  if (host_span < 0) error = saturate(Wide{error} - host_span);
  return {saturate(a.host_ns + scale(host_span, part, span)), error};
}

int64_t ClockCurve::durationNs(int64_t ticks) const {
  return saturate(scale(ticks, numerator_, denominator_));
}

ClockMap::ClockMap(const Trace& trace) {
  struct Domain {
    std::vector<ClockCurve::Snapshot> snapshots;
    uint64_t numerator = 1;
    uint64_t denominator = 1;
  };
  std::vector<Domain> domains;
  auto domainOf = [&](ClockDomainId id) -> Domain* {
    const auto i = static_cast<uint32_t>(id);
    if (i == 0 || i >= kMaxDomains) return nullptr;
    if (i >= domains.size()) domains.resize(i + 1);
    return &domains[i];
  };
  const ClockDomainTable& rows = trace.clock_domain;
  for (size_t i = 0; i < rows.size(); ++i) {
    Domain* domain = domainOf(rows.id[i]);
    if (domain == nullptr) continue;
    domain->numerator = rows.tick_numerator[i];
    domain->denominator = rows.tick_denominator[i];
    // Needs no snapshots from the trace: these two define it.
    if (rows.kind[i] == ClockKind::kHostMonotonic) {
      constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
      constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
      domain->snapshots.assign({{kMin, kMin, 0}, {kMax, kMax, 0}});
    }
  }
  const ClockSnapshotTable& snapshots = trace.clock_snapshot;
  for (size_t i = 0; i < snapshots.size(); ++i) {
    Domain* domain = domainOf(snapshots.domain_id[i]);
    if (domain == nullptr) continue;
    domain->snapshots.push_back(
        {snapshots.host_ns[i], snapshots.clock_value[i], snapshots.error_ns[i]});
  }
  curves_.reserve(domains.size());
  for (Domain& domain : domains) {
    curves_.emplace_back(std::move(domain.snapshots), domain.numerator, domain.denominator);
  }
}

const ClockCurve& ClockMap::curve(ClockDomainId domain) const {
  static const ClockCurve kEmpty;
  const auto i = static_cast<size_t>(domain);
  return i < curves_.size() ? curves_[i] : kEmpty;
}

HostTime ClockMap::toHost(ClockDomainId domain, int64_t clock_value) const {
  if (domain == ClockDomainId::kNone) return {clock_value, 0};
  return curve(domain).toHost(clock_value);
}

namespace {

/// Their starts are estimates of the moment at which they were written; the clock is better known
/// by now. Those whose clock has no snapshot stay as they are.
void convertCommWork(Trace& trace) {
  CommWorkTable& work = trace.comm_work;
  const auto is_none = [](ClockDomainId id) { return id == ClockDomainId::kNone; };
  if (std::all_of(work.clock_domain_id.begin(), work.clock_domain_id.end(), is_none)) return;
  const ClockMap clocks(trace);
  for (size_t i = 0; i < work.size(); ++i) {
    if (is_none(work.clock_domain_id[i])) continue;
    const ClockCurve& curve = clocks.curve(work.clock_domain_id[i]);
    work.clock_domain_id[i] = ClockDomainId::kNone;
    if (curve.empty()) continue;
    const HostTime start = curve.toHost(work.device_start[i]);
    if (start.error_ns >= work.error_ns[i]) continue;
    work.start_ns[i] = start.ns;
    work.error_ns[i] = start.error_ns;
  }
}

}  // namespace

size_t convertToHostTime(Trace& trace) {
  convertCommWork(trace);
  return convertToHostTime(trace, TableId::kKernel) + convertToHostTime(trace, TableId::kCopy) +
         convertToHostTime(trace, TableId::kFill) + convertToHostTime(trace, TableId::kSync);
}

template <class Table>
size_t HostTimeConverter::convert(Table& table) const {
  const auto devices = tables_.device.size();
  size_t unconverted = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    if ((table.flags[i] & op_flags::kDeviceClock) == 0) continue;
    const DeviceId device = tables_.deviceOf(table.stream_id[i]);
    if (device == DeviceId::kNone || static_cast<size_t>(device) > devices) {
      ++unconverted;
      continue;
    }
    const ClockDomainId domain = tables_.device.clock_domain_id[indexOf(device)];
    if (domain != ClockDomainId::kNone) {
      const ClockCurve& curve = clocks_.curve(domain);
      if (curve.empty()) {
        ++unconverted;
        continue;
      }
      table.start_ns[i] = curve.toHost(table.start_ns[i]).ns;
      table.duration_ns[i] = curve.durationNs(table.duration_ns[i]);
      table.queued_before_ns[i] = curve.durationNs(table.queued_before_ns[i]);
      table.submitted_before_ns[i] = curve.durationNs(table.submitted_before_ns[i]);
    }
    table.flags[i] &= ~op_flags::kDeviceClock;
  }
  return unconverted;
}
template size_t HostTimeConverter::convert(KernelTable&) const;
template size_t HostTimeConverter::convert(CopyTable&) const;
template size_t HostTimeConverter::convert(FillTable&) const;
template size_t HostTimeConverter::convert(SyncTable&) const;

size_t convertToHostTime(Trace& trace, TableId table_id) {
  if (table_id == TableId::kCommWork) {
    convertCommWork(trace);
    return 0;
  }
  size_t unconverted = 0;
  const auto convert = [&](auto& table) {
    if (table.kId != table_id) return;
    uint32_t any = 0;
    for (const uint32_t flags : table.flags) any |= flags;
    if ((any & op_flags::kDeviceClock) == 0) return;  // usually all rows have it, or none
    unconverted = HostTimeConverter(trace).convert(table);
  };
  convert(trace.kernel);
  convert(trace.copy);
  convert(trace.fill);
  convert(trace.sync);
  return unconverted;
}

}  // namespace tracesmith
