// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/time_hints.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tracesmith/format/blocks/keyed_rows.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"

namespace tracesmith::sbt {
namespace {

constexpr size_t kKeptSnapshots = 64;  // per clock

int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

}  // namespace

void TimeHints::learn(const Trace& delta) {
  auto merge = [](auto& into, const auto& rows) {
    mergeById(into, rows, into.size() + rows.size() + kMaxIdsAhead);
  };
  merge(known_.stream, delta.stream);
  merge(known_.device, delta.device);
  merge(known_.clock_domain, delta.clock_domain);
  for (size_t i = 0; i < delta.clock_snapshot.size(); ++i) {
    known_.clock_snapshot.push(delta.clock_snapshot.row(i));
  }
  if (known_.clock_snapshot.size() > trim_above_) trimSnapshots();
  if (!delta.clock_domain.empty() || !delta.clock_snapshot.empty()) clocks_.reset();
}

/// Old snapshots matter little for new rows, and a recording of days has very many.
void TimeHints::trimSnapshots() {
  std::map<ClockDomainId, size_t> kept_of;
  ClockSnapshotTable kept;
  for (size_t i = known_.clock_snapshot.size(); i-- > 0;) {
    const ClockSnapshotRow row = known_.clock_snapshot.row(i);
    if (++kept_of[row.domain_id] <= kKeptSnapshots) kept.push(row);
  }
  known_.clock_snapshot = std::move(kept);
  trim_above_ = 2 * (known_.clock_snapshot.size() + kKeptSnapshots);
}

bool TimeHints::widenByDeviceSpan(Range& range, StreamId stream, int64_t start, int64_t duration) {
  const DeviceId device = known_.deviceOf(stream);
  if (device == DeviceId::kNone || static_cast<size_t>(device) > known_.device.size()) return false;
  const ClockDomainId domain = known_.device.clock_domain_id[indexOf(device)];
  if (!clocks_) clocks_.emplace(known_);
  if (domain != ClockDomainId::kNone && clocks_->curve(domain).empty()) return false;
  // A reader may know snapshots that are still to come. Its result and this one each lie within the
  // error bound of the true time, so twice the bound is needed.
  const HostTime from = clocks_->toHost(domain, start);
  const HostTime to = clocks_->toHost(domain, endOf(start, duration));
  const int64_t length =
      domain == ClockDomainId::kNone ? duration : clocks_->curve(domain).durationNs(duration);
  const int64_t end = std::max(to.ns, endOf(from.ns, length));
  const int64_t error = std::max(from.error_ns, to.error_ns);
  widen(range, saturatingAdd(saturatingAdd(from.ns, -error), -error),
        saturatingAdd(saturatingAdd(end, error), error));
  return true;
}

}  // namespace tracesmith::sbt
