// SPDX-License-Identifier: Apache-2.0
// Writes the rows since the last commit, and then frees their space in the rings.
#include <algorithm>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/collect/collector.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kCommitRows = 128 << 10;

}  // namespace

bool Collector::commitDue() const {
  if (monotonicNs() - last_commit_ns_ >= options_.commit_interval_ns) return true;
  const Trace& d = shared_.delta;
  const size_t rows = d.host_call.size() + d.kernel.size() + d.copy.size() + d.range.size() +
                      d.cpu_sample.size() + d.thread_state.size() + d.system_call.size() +
                      d.wakeup.size();
  if (rows >= kCommitRows) return true;
  for (const auto& arena : arenas_) {
    for (const Ring& ring : arena->rings) {
      if (ring.position - ring.committed > arena->file.ringBytes() / 4) return true;
    }
    // The remaining records of a dead process: once they are written, its arena can be removed.
    if (!arena->process->alive) return true;
  }
  return false;
}

void Collector::commit() {
  last_commit_ns_ = monotonicNs();
  for (auto& [key, process] : processes_) process->joiner.writePending();
  writeClocks(false);
  Trace& delta = shared_.delta;
  bool has_rows = false;
  forEachTable(delta, [&](const auto& table) { has_rows = has_rows || !table.empty(); });
  bool moved = false;
  for (const auto& arena : arenas_) {
    for (const Ring& ring : arena->rings) moved = moved || ring.position != ring.committed;
  }
  std::vector<CudaFileState*> left;  // rows of these are about to be written
  for (auto& [key, process] : processes_) {
    for (auto& [path, share] : process->cuda_files) {
      if (share.left_read && !share.committed) left.push_back(&share);
    }
  }
  moved = moved || !left.empty();
  if (has_rows || moved) {
    writeLosses();
    if (write_status_) write_status_ = writeRows();
    shared_.ranges_written += delta.range.size();
    forEachTable(delta, [](auto& table) { table.clear(); });
    for (const auto& arena : arenas_) {
      const StringId name = delta.strings.intern(arena->file.name());
      for (uint32_t i = 0; i < arena->rings.size(); ++i) {
        const Ring& ring = arena->rings[i];
        if (ring.position == ring.committed) continue;
        delta.commit_mark.push({.arena = name,
                                .ring = i,
                                .position = ring.position,
                                .events = ring.records,
                                .tid = ring.tid});
      }
    }
    for (const CudaFileState* share : left) {
      const StringId name = delta.strings.intern(share->file.name());
      delta.commit_mark.push({.arena = name, .ring = 0, .position = 1});
    }
    if (write_status_ && moved) write_status_ = writeRows();
    delta.commit_mark.clear();
  }
  for (CudaFileState* share : left) share->committed = write_status_.has_value();
  // From here on no record can be kept. Stop the programs from emitting: on a full disk each new
  // page that they write to costs them a search for space.
  if (!write_status_ && capturing_) setCapturing(false);
  for (const auto& arena : arenas_) {
    for (uint32_t i = 0; i < arena->rings.size(); ++i) {
      Ring& ring = arena->rings[i];
      ring.committed = ring.position;
      ring.committed_records = ring.records;
      if (write_status_ || !resumed_session_) {
        arena->file.ring(i).tail.store(ring.position, std::memory_order_release);
      }
    }
  }
  turnWindow();
}

Status Collector::writeRows() {
  if (window_) window_->prepare(shared_.delta);
  Status written = writer_->write(shared_.delta);
  // Newer events count more than older ones.
  while (!written && window_ && window_->removeOldest()) written = writer_->write(shared_.delta);
  if (written && window_) window_->note(shared_.delta);
  return written;
}

/// Of a flight recorder, after a commit.
void Collector::turnWindow() {
  if (!window_ || !write_status_ || finished_) return;
  if (window_->isWanted()) window_->save(*writer_);
  if (!window_->isDue(last_commit_ns_)) return;
  if (!window_->rotate(writer_, last_commit_ns_)) return;  // it tries again
  shared_.ranges_written = 0;
  constexpr size_t kKept = 4096;  // several minutes; no record waits that long
  shared_.stamps.trim(kKept);
  written_samples_ -= std::min(written_samples_, shared_.host_clocks.trim(kKept));
}

uint32_t Collector::saveWindow(std::string reason) {
  if (!window_ || !commitNow()) return 0;
  window_->want(std::move(reason));
  return window_->save(*writer_);
}

Status Collector::finishFile() { return window_ ? window_->finish(*writer_) : writer_->finish(); }

void Collector::writeClocks(bool finish) {
  constexpr size_t kHostKinds = HostClocks::kKinds.size();
  constexpr auto kCounterDomain = idAt<ClockDomainId>(kHostKinds);
  Trace& delta = shared_.delta;
  const auto& samples = shared_.host_clocks.samples();
  if (written_clock_.empty()) {
    for (size_t k = 0; k < kHostKinds; ++k) {
      const ClockKind kind = HostClocks::kKinds[k];
      delta.clock_domain.push({.id = idAt<ClockDomainId>(k),
                               .kind = kind,
                               .name = delta.strings.intern(toString(kind))});
    }
    delta.clock_domain.push({.id = kCounterDomain,
                             .kind = ClockKind::kTimeStampCounter,
                             .name = delta.strings.intern("time stamp counter")});
    written_clock_.reserve(1);
  }
  written_clock_.resize(shared_.devices.size(), ClockKind::kHostMonotonic);

  for (auto& [key, process] : processes_) {
    process->joiner.giveCudaClockSnapshots();
    process->joiner.writeNcclClocks(finish);
  }
  std::array<int64_t, kHostKinds> extra{};  // ambiguity left by the devices' brackets
  for (size_t i = 0; i < shared_.devices.size(); ++i) {
    SharedRows::DeviceState& device = shared_.devices[i];
    if (!device.vendor_snapshots.empty()) {
      writeVendorClock(device, SharedRows::deviceClock(i));
    }
    if (!device.clock.observed()) continue;
    const ClockKind kind = device.clock.kind();
    ClockDomainId domain = ClockDomainId::kNone;
    for (size_t k = 0; k < kHostKinds; ++k) {
      if (HostClocks::kKinds[k] != kind) continue;
      domain = idAt<ClockDomainId>(k);
      extra[k] = std::max(extra[k], device.clock.identityError());
    }
    if (kind == ClockKind::kBracketed) {
      domain = SharedRows::deviceClock(i);
      delta.clock_domain.push({.id = domain,
                               .kind = kind,
                               .name = delta.strings.intern(
                                   "clock of " + std::string(delta.strings.at(device.row.name)))});
      for (const auto& s : device.clock.takeBracketSnapshots(finish)) {
        delta.clock_snapshot.push({.domain_id = domain,
                                   .host_ns = s.host_ns,
                                   .clock_value = s.clock_value,
                                   .error_ns = s.error_ns});
      }
    }
    if (domain != device.row.clock_domain_id) {
      device.row.clock_domain_id = domain;
      delta.device.push(device.row);
    }
  }
  for (const StampClock::Sample& s : shared_.stamps.samples()) {
    // The newest sample may still be replaced. Write it once it is no longer the newest, or at the
    // end.
    const bool newest = &s == &shared_.stamps.samples().back();
    if (s.host_ns <= written_stamps_ns_ || (newest && !finish)) continue;
    written_stamps_ns_ = s.host_ns;
    delta.clock_snapshot.push({.domain_id = kCounterDomain,
                               .host_ns = s.host_ns,
                               .clock_value = s.counter,
                               .error_ns = s.error_ns});
  }
  // Write samples of all host clocks, because the clock of a device may be identified later.
  for (; written_samples_ < samples.size(); ++written_samples_) {
    const HostClocks::Sample& s = samples[written_samples_];
    for (size_t k = 0; k < kHostKinds; ++k) {
      delta.clock_snapshot.push({.domain_id = idAt<ClockDomainId>(k),
                                 .host_ns = s.host_ns,
                                 .clock_value = s.value[k],
                                 .error_ns = s.error_ns + extra[k]});
    }
  }
}

/// For a device whose work is already in host time, converted by the vendor's library. The
/// snapshots give the offset of its clock from the host's, but not the accuracy of that conversion.
void Collector::writeVendorClock(SharedRows::DeviceState& device, ClockDomainId domain) {
  Trace& delta = shared_.delta;
  if (device.row.clock_domain_id != domain) {
    delta.clock_domain.push(
        {.id = domain, .kind = ClockKind::kConverted, .name = delta.strings.intern("CUPTI")});
    device.row.clock_domain_id = domain;
    delta.device.push(device.row);
  }
  for (const ClockCurve::Snapshot& s : device.vendor_snapshots) {
    delta.clock_snapshot.push({.domain_id = domain,
                               .host_ns = s.host_ns,
                               .clock_value = s.clock_value,
                               .error_ns = s.error_ns});
  }
  device.vendor_snapshots.clear();
}

}  // namespace tracesmith
