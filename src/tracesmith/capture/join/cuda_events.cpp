// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/cuda_events.hpp"

#include <algorithm>
#include <iterator>

#include "tracesmith/capture/protocol/cuda_layout.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith {
namespace {

constexpr size_t kMostRecordings = 1u << 18;
constexpr size_t kMostUnmatchedCalls = 1u << 16;
constexpr size_t kMostWaits = 1u << 16;
constexpr uint32_t kOftenTries = 16;
constexpr uint32_t kSeldom = 64;

}  // namespace

/// "cudaEventRecord_ptsz", "cuEventRecordWithFlags"; not the functions that add graph nodes.
bool CudaEvents::recordsEvent(std::string_view function) {
  for (const std::string_view api : {"cuda", "cu"}) {
    if (function.starts_with(api)) return function.substr(api.size()).starts_with("EventRecord");
  }
  return false;
}

void CudaEvents::addCall(uint64_t correlation, int64_t start_ns, int64_t end_ns) {
  changed_ = true;
  const auto [first, last] = by_call_.equal_range(correlation);
  for (auto it = first; it != last; ++it) {
    Recording& recording = recordings_.at(it->second);
    events_.at(recording.event).by_start.erase({recording.start_ns, it->second});
    recording.start_ns = start_ns;
    recording.end_ns = end_ns;
    noteTimes(it->second, recording);
  }
  longest_call_ns_ = std::max(longest_call_ns_, end_ns - start_ns);
  if (first != last) return;
  unmatched_calls_[{start_ns, correlation}] = end_ns;
  unmatched_starts_[correlation] = start_ns;
  if (unmatched_calls_.size() <= kMostUnmatchedCalls) return;
  const auto oldest = unmatched_calls_.begin();
  unknown_until_ns_ = std::max(unknown_until_ns_, oldest->second);
  unmatched_starts_.erase(oldest->first.second);
  unmatched_calls_.erase(oldest);
}

void CudaEvents::addRecording(const Use& use, StreamId stream) {
  Recording made{use.correlation, use.event, use.event_sync, stream};
  if (const auto call = unmatched_starts_.find(use.correlation); call != unmatched_starts_.end()) {
    const auto times = unmatched_calls_.find({call->second, use.correlation});
    made.start_ns = call->second;
    made.end_ns = times->second;
    unmatched_calls_.erase(times);
    unmatched_starts_.erase(call);
  }
  keep(made);
  while (recordings_.size() > kMostRecordings) forgetOldest();
  delta_.object.push({.process_id = process_,
                      .kind = ObjectKind::kEvent,
                      .handle = uint64_t{use.event.context} << 32 | use.event.number,
                      .parent = use.event_sync,
                      .bytes = use.correlation,
                      .id = static_cast<uint32_t>(stream)});
}

void CudaEvents::keep(const Recording& recording) {
  changed_ = true;
  const uint64_t number = next_++;
  recordings_.emplace_hint(recordings_.end(), number, recording);
  events_[recording.event].numbers.insert(number);
  noteTimes(number, recording);
  by_call_.emplace(recording.correlation, number);
  if (recording.event_sync != arena::kNoEventSync) {
    syncs_[{recording.event.life, recording.event_sync}] = number;
  }
}

void CudaEvents::noteTimes(uint64_t number, const Recording& recording) {
  if (recording.start_ns == INT64_MIN) return;
  events_.at(recording.event).by_start.insert({recording.start_ns, number});
}

/// An event's last recording may be waited for at any time, so it is kept if there is space.
void CudaEvents::forgetOldest() {
  const auto [number, recording] = *recordings_.begin();
  Recordings& of_event = events_.at(recording.event);
  const bool stays = *of_event.numbers.rbegin() == number && events_.size() < kMostRecordings / 2;
  if (!stays) {
    of_event.forgotten_until_ns = std::max(of_event.forgotten_until_ns, recording.end_ns);
  }
  erase(number);
  if (stays) keep(recording);
}

void CudaEvents::erase(uint64_t number) {
  const auto at = recordings_.find(number);
  const Recording& gone = at->second;
  Recordings& of_event = events_.at(gone.event);
  of_event.numbers.erase(number);
  of_event.by_start.erase({gone.start_ns, number});
  const auto sync = syncs_.find({gone.event.life, gone.event_sync});
  if (sync != syncs_.end() && sync->second == number) syncs_.erase(sync);
  const auto [first, last] = by_call_.equal_range(gone.correlation);
  for (auto it = first; it != last; ++it) {
    if (it->second != number) continue;
    by_call_.erase(it);
    break;
  }
  recordings_.erase(at);
}

void CudaEvents::addWait(const Use& use, int64_t start_ns, int64_t end_ns) {
  changed_ = true;
  waits_.push_back({use, start_ns, end_ns});
}

const CudaEvents::Recording* CudaEvents::matchBySync(const Use& use) const {
  const auto found = syncs_.find({use.event.life, use.event_sync});
  return found == syncs_.end() ? nullptr : &recordings_.at(found->second);
}

/// Whether a call that may have recorded the same event ran after `since_ns` and not after the
/// wait.
bool CudaEvents::mayBeAnother(const Wait& wait, int64_t since_ns) const {
  if (unknown_until_ns_ > since_ns) return true;
  const int64_t reach =
      since_ns < INT64_MIN + longest_call_ns_ ? INT64_MIN : since_ns - longest_call_ns_;
  for (auto it = unmatched_calls_.lower_bound({reach, 0}); it != unmatched_calls_.end(); ++it) {
    if (it->first.first >= wait.end_ns) return false;
    if (it->second > since_ns) return true;
  }
  return false;
}

CudaEvents::Answer CudaEvents::matchByOrder(const Wait& wait, const Recording*& found) const {
  const auto event = events_.find(wait.use.event);
  bool is_clear = true;
  if (event != events_.end()) {
    const auto& by_start = event->second.by_start;
    // some times are still unknown
    if (by_start.size() != event->second.numbers.size()) return Answer::kLater;
    // Search backwards from the last one, as far as a call can reach into the interval.
    for (auto it = by_start.lower_bound({wait.end_ns, 0}); it != by_start.begin();) {
      const Recording& r = recordings_.at((--it)->second);
      if (r.end_ns > wait.start_ns) return Answer::kLater;  // concurrent with the wait
      if (found == nullptr) {
        found = &r;
      } else if (found->start_ns < r.end_ns) {
        is_clear = false;
      }
      if (found->start_ns - r.start_ns > longest_call_ns_) break;
    }
    const int64_t since_ns = found != nullptr ? found->start_ns : INT64_MIN;
    if (event->second.forgotten_until_ns > since_ns) return Answer::kLater;
  }
  if (!is_clear || mayBeAnother(wait, found != nullptr ? found->start_ns : INT64_MIN)) {
    return Answer::kLater;
  }
  // A wait for an event that was never recorded has no edge.
  return found != nullptr ? Answer::kEdge : Answer::kNothing;
}

CudaEvents::Answer CudaEvents::resolveWait(const Wait& wait, const Recording*& found) const {
  if (wait.use.event_sync == arena::kNoEventSync) return matchByOrder(wait, found);
  found = matchBySync(wait.use);
  if (found == nullptr) return wait.use.event_sync == 0 ? Answer::kNothing : Answer::kLater;
  // A recording by a graph belongs to the graph launch, which is not a position in the stream.
  return found->start_ns == INT64_MIN ? Answer::kLater : Answer::kEdge;
}

void CudaEvents::endPass() {
  if (changed_) matchWaits(false);
}

/// Most waits find their recording at once. Older ones are examined only now and then, because
/// their recording may never come.
void CudaEvents::matchWaits(bool at_all) {
  changed_ = false;
  std::erase_if(waits_, [this, at_all](Wait& wait) {
    const uint32_t tries = wait.tries++;
    if (!at_all && tries >= kOftenTries && tries % kSeldom != 0) {
      changed_ = true;
      return false;
    }
    const Recording* found = nullptr;
    const Answer what = resolveWait(wait, found);
    if (what == Answer::kEdge) {
      delta_.flow.push({.process_id = process_,
                        .from_correlation_id = found->correlation,
                        .to_correlation_id = wait.use.correlation,
                        .kind = FlowKind::kWait,
                        .from_stream_id = found->stream});
    }
    return what != Answer::kLater;
  });
  if (waits_.size() <= kMostWaits) return;
  const size_t over = waits_.size() - kMostWaits;
  unmatched_ += over;
  waits_.erase(waits_.begin(), waits_.begin() + static_cast<ptrdiff_t>(over));
}

void CudaEvents::finish() {
  matchWaits(true);
  unmatched_ += waits_.size();
  waits_.clear();
}

// --- Another collector's ------------------------------------------------------------------------

void CudaEvents::writeWaiting() {
  for (Wait& wait : waits_) {
    if (wait.is_written) continue;
    wait.is_written = true;
    delta_.pending.push({.process_id = process_,
                         .correlation_id = wait.use.correlation,
                         .sub_kind = kPendingKind,
                         .bytes = wait.use.event_sync,
                         .source = uint64_t{wait.use.event.context} << 32 | wait.use.event.number,
                         .destination = wait.use.event.life,
                         .host_start_ns = wait.start_ns,
                         .host_end_ns = wait.end_ns});
  }
}

namespace {

CudaEvents::Event eventOf(uint64_t life, uint64_t handle) {
  return {static_cast<uint32_t>(life), static_cast<uint32_t>(handle >> 32),
          static_cast<uint32_t>(handle)};
}

}  // namespace

void CudaEvents::restoreRecorded(const ObjectRow& row) {
  keep({row.bytes, eventOf(row.bytes / cuda_file::kIdsOfLife, row.handle), row.parent,
        static_cast<StreamId>(row.id)});
}

void CudaEvents::restoreWait(const PendingRow& row) {
  if (restored_edges_.contains(row.correlation_id)) return;
  waits_.push_back({{row.correlation_id, eventOf(row.destination, row.source), row.bytes},
                    row.host_start_ns,
                    row.host_end_ns,
                    true});
}

}  // namespace tracesmith
