// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_nccl.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/record_joiner.hpp"

namespace tracesmith {
namespace {

using arena::NcclEvent;

/// Operations that are kept for channels and proxies that may still come. NCCL can have as many
/// under way as fit its queues, some thousands.
constexpr size_t kMostUnended = 1u << 16;
/// So much later no channel comes any more that is not known yet.
constexpr int64_t kLongAgoNs = 1'000'000'000;
/// After so many contradictions in a row the device's clock was set, or NCCL's times are right now.
constexpr uint32_t kBelievedContradictions = 8;

bool isTransfer(NcclEvent event) {
  return event == NcclEvent::kCollective || event == NcclEvent::kMessage ||
         event == NcclEvent::kCopyCollective;
}
bool isCall(NcclEvent event) {
  return event == NcclEvent::kCollectiveCall || event == NcclEvent::kMessageCall;
}

}  // namespace

bool RecordedNccl::define(ByteView record) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  switch (header.kind) {
    case arena::RecordKind::kNcclCommunicator:
      return defineCommunicator(record);
    case arena::RecordKind::kNcclStart:
      return defineStart(record);
    case arena::RecordKind::kNcclStop: {
      arena::NcclStopRecord stop;
      if (!takePart(record, stop)) return false;
      const auto operation = operations_.find(stop.id);
      if (operation == operations_.end()) return true;
      int64_t& last = contexts_[operation->second.context].last_enqueued;
      last = std::max(last, host_ns_(stop.time));
      return true;
    }
    default:
      return true;
  }
}

bool RecordedNccl::defineCommunicator(ByteView record) {
  arena::NcclCommunicatorRecord r;
  if (!takePart(record, r) || r.name_bytes > record.size()) return false;
  if ((r.header.flags & 1) != 0) return true;
  Context& context = contexts_[r.header.aux];
  StringTable& strings = shared_.delta.strings;
  CommunicatorRow row{.id = context.row.id,
                      .process_id = process_,
                      .name = strings.intern(asText(record.subspan(0, r.name_bytes))),
                      .key = r.key,
                      .ranks = r.ranks,
                      .rank = r.rank,
                      .created_ns = host_ns_(r.time),
                      .ordinal = r.header.aux,
                      .library = strings.intern("NCCL"),
                      .nodes = r.nodes};
  const bool is_new = row.id == CommunicatorId::kNone;
  if (!is_new && row.key == context.row.key) return true;  // read again
  if (is_new) row.id = idAt<CommunicatorId>(shared_.communicators++);
  context.row = row;
  shared_.delta.communicator.push(row);
  return true;
}

bool RecordedNccl::defineStart(ByteView record) {
  arena::NcclStartRecord start;
  if (!takePart(record, start)) return false;
  const auto event = static_cast<NcclEvent>(start.header.flags);
  if (isCall(event)) {
    arena::NcclCallPart part;
    if (!takePart(record, part)) return false;
    calls_.try_emplace(start.id, Call{.part = part,
                                      .event = event,
                                      .context = start.header.aux,
                                      .group = start.parent,
                                      .start = host_ns_(start.time)});
  } else if (isTransfer(event)) {
    arena::NcclTransferPart part;
    if (!takePart(record, part)) return false;
    defineOperation(start.id, start, part);
  }
  return true;
}

void RecordedNccl::defineOperation(uint64_t id, const arena::NcclStartRecord& start,
                                   const arena::NcclTransferPart& part) {
  const auto [known, is_new] = operations_.try_emplace(id);
  if (!is_new) return;
  Operation& operation = known->second;
  operation.part = part;
  operation.event = static_cast<NcclEvent>(start.header.flags);
  operation.context = start.header.aux;
  if (operation.event != NcclEvent::kMessage) operation.sequence = part.sequence + 1;
  if (operation.event == NcclEvent::kCollective) {  // copy engines have numbers of their own
    uint64_t& last = contexts_[operation.context].numbers[std::string(textIn(part.function))].last;
    last = std::max(last, operation.sequence);
  }
  operation.correlation = id;
  operation.start = operation.called = host_ns_(start.time);
  operation.stack = part.stack;
  // Its kernel may run before NCCL reports it, but not before the call. Without events of calls:
  // not before the communicator's last operation was reported.
  const int64_t last = contexts_[operation.context].last_enqueued;
  operation.not_before = last <= operation.start ? last : 0;
  const auto call = calls_.find(start.parent);
  if (call == calls_.end()) return;
  operation.stream = call->second.part.stream;
  operation.is_captured = call->second.part.is_captured != 0;
  if (operation.is_captured || call->second.has_operation) return;
  call->second.has_operation = true;
  operation.correlation = start.parent;
  operation.called = operation.not_before = call->second.start;
  operation.stack = call->second.part.stack;
  if (call->second.end != 0) calls_.erase(call);
}

bool RecordedNccl::join(ByteView record, ThreadId thread) {
  const auto header = loadFixed<arena::RecordHeader>(record.data());
  switch (header.kind) {
    case arena::RecordKind::kNcclStart:
      return joinStart(record, thread);
    case arena::RecordKind::kNcclStop:
      return joinStop(record);
    case arena::RecordKind::kNcclState:
      return joinState(record);
    default:
      return true;  // define() has taken it
  }
}

bool RecordedNccl::joinStart(ByteView record, ThreadId thread) {
  arena::NcclStartRecord start;
  if (!takePart(record, start)) return false;
  const auto event = static_cast<NcclEvent>(start.header.flags);
  newest_ = std::max(newest_, host_ns_(start.time));
  if (event == NcclEvent::kGroupCall) {
    uint64_t& last = last_groups_[thread];
    open_groups_.erase(last);  // a thread is in one at a time, so its end was lost
    last = start.id;
    open_groups_.insert(last);
  } else if (isCall(event)) {
    if (const auto call = calls_.find(start.id); call != calls_.end()) {
      call->second.thread = thread;
    }
  } else if (isTransfer(event)) {
    if (const auto operation = operations_.find(start.id); operation != operations_.end()) {
      operation->second.thread = thread;
    }
  } else if (event == NcclEvent::kKernelChannel) {
    arena::NcclChannelPart part;
    if (!takePart(record, part)) return false;
    startChannel(start, part);
  } else if (event == NcclEvent::kProxyOperation) {
    arena::NcclProxyPart part;
    if (!takePart(record, part)) return false;
    const auto operation = operations_.find(start.parent);
    Proxy proxy{.part = part, .start = host_ns_(start.time)};
    if (operation != operations_.end()) {
      proxy.correlation = operation->second.correlation;
    } else {
      ++without_parent_;  // of another process, or forgotten
    }
    proxies_.add(start.id, proxy);
  } else if (event == NcclEvent::kProxyStep) {
    steps_.add(start.id, Step{.proxy = start.parent, .since = host_ns_(start.time)});
  }
  return true;
}

void RecordedNccl::startChannel(const arena::NcclStartRecord& start,
                                const arena::NcclChannelPart& part) {
  const auto known = operations_.find(start.parent);
  if (known == operations_.end()) {
    ++without_parent_;
    return;
  }
  Operation& operation = known->second;
  channels_.add(start.id, std::pair(start.parent, part.channel));
  operation.channels[part.channel] = Channel{
      .seen_start = host_ns_(start.time),
      .device_start = static_cast<int64_t>(std::min<uint64_t>(part.device_time, INT64_MAX))};
}

bool RecordedNccl::joinStop(ByteView record) {
  arena::NcclStopRecord stop;
  if (!takePart(record, stop)) return false;
  const auto event = static_cast<NcclEvent>(stop.header.flags);
  const int64_t time = host_ns_(stop.time);
  newest_ = std::max(newest_, time);
  if (event == NcclEvent::kGroupCall) {
    open_groups_.erase(stop.id);
  } else if (isCall(event)) {
    const auto call = calls_.find(stop.id);
    if (call == calls_.end() || call->second.end != 0) return true;  // NCCL may end a call twice
    call->second.end = time;
    writeCall(stop.id, call->second);
    if (call->second.has_operation) {
      calls_.erase(call);
    } else if (call->second.part.is_captured == 0) {
      ended_calls_.push_back(stop.id);
    }
  } else if (isTransfer(event)) {
    const auto known = operations_.find(stop.id);
    if (known == operations_.end() || known->second.is_written) return true;
    Operation& operation = known->second;
    writeComm(operation, time, CommState::kUnknown);
    if (operation.part.channels != 0 && operation.ended_channels >= operation.part.channels) {
      writeWork(operation);
      operations_.erase(known);
    } else {
      unended_.push_back(stop.id);
    }
  } else if (event == NcclEvent::kKernelChannel) {
    endChannel(stop);
  } else if (event == NcclEvent::kProxyOperation) {
    endProxy(stop.id, time);
  } else if (event == NcclEvent::kProxyStep) {
    changeStep(stop.id, 0, 0, time);
    steps_.events.erase(stop.id);
  }
  return true;
}

void RecordedNccl::endChannel(const arena::NcclStopRecord& stop) {
  const auto known = channels_.events.find(stop.id);
  if (known == channels_.events.end()) {
    ++without_parent_;
    return;
  }
  const auto [id, number] = known->second;
  channels_.events.erase(known);
  const auto found = operations_.find(id);
  if (found == operations_.end()) {
    ++without_parent_;
    return;
  }
  Operation& operation = found->second;
  Channel& channel = operation.channels[number];
  channel.seen_end = host_ns_(stop.time);
  operation.last_end = std::max(operation.last_end, channel.seen_end);
  const bool is_told = stop.header.aux == 1 && stop.value <= INT64_MAX && channel.device_start > 0;
  if (is_told) {
    Context& context = contexts_[operation.context];
    channel.device_end = static_cast<int64_t>(stop.value);
    const bool is_possible =
        channel.device_end >= channel.device_start &&
        observeClock(context, operation.not_before, channel.seen_start, channel.device_start) &&
        observeClock(context, operation.not_before, channel.seen_end, channel.device_end);
    if (!is_possible) channel.device_start = channel.device_end = 0;
  } else {
    channel.device_start = 0;
  }
  ++operation.ended_channels;
  if (operation.part.channels == 0) {
    if (operation.ended_channels == 1) unknown_.push_back(id);
  } else if (operation.ended_channels >= operation.part.channels && operation.is_written) {
    writeWork(operation);
    operations_.erase(found);
  }
}

/// NCCL has been seen to give times of other work (github.com/NVIDIA/nccl/pull/2368). False: this
/// is one, as far as the clock is known.
bool RecordedNccl::observeClock(Context& context, int64_t not_before, int64_t seen,
                                int64_t device_time) {
  if (context.clock.observed()) {
    const HostTime time = context.clock.toHostByBrackets(device_time);
    if (time.ns - time.error_ns > seen || time.ns + time.error_ns < not_before) {
      if (++context.contradictions < kBelievedContradictions) return false;
    }
  }
  context.contradictions = 0;
  if (context.clock_domain == ClockDomainId::kNone) {
    context.clock_domain = shared_.nextCommunicatorClock();
    shared_.delta.clock_domain.push({.id = context.clock_domain,
                                     .kind = ClockKind::kBracketed,
                                     .name = shared_.delta.strings.intern("timer of NCCL's GPU")});
  }
  context.clock.observe(not_before == 0 ? seen - kLongAgoNs : not_before, seen, device_time,
                        shared_.host_clocks);
  return true;
}

bool RecordedNccl::joinState(ByteView record) {
  arena::NcclStateRecord state;
  if (!takePart(record, state)) return false;
  newest_ = std::max(newest_, host_ns_(state.time));
  if (static_cast<NcclEvent>(state.header.flags) == NcclEvent::kProxyStep) {
    changeStep(state.id, state.header.aux, state.bytes, host_ns_(state.time));
  }
  return true;
}

void RecordedNccl::addWait(const Step& step, int64_t time) {
  // ncclProfilerProxyStep...: what a step waits for in this state.
  constexpr uint32_t kSendGpuWait = 8, kSendWait = 9, kReceiveWait = 10, kReceiveFlushWait = 11,
                     kReceiveGpuWait = 12, kSendPeerWait = 20;
  const auto proxy = proxies_.events.find(step.proxy);
  if (proxy == proxies_.events.end()) return;
  const int64_t waited = std::max<int64_t>(0, time - step.since);
  switch (step.state) {
    case kSendGpuWait:
    case kReceiveGpuWait:
    case kReceiveFlushWait:
      proxy->second.gpu_wait += waited;
      break;
    case kSendPeerWait:
      proxy->second.peer_wait += waited;
      break;
    case kSendWait:
    case kReceiveWait:
      proxy->second.network_wait += waited;
      break;
    default:
      break;
  }
}

/// `state` 0: the step has ended.
void RecordedNccl::changeStep(uint64_t id, uint32_t state, uint64_t bytes, int64_t time) {
  const auto known = steps_.events.find(id);
  if (known == steps_.events.end()) {
    ++without_parent_;
    return;
  }
  Step& step = known->second;
  addWait(step, time);
  const auto proxy = proxies_.events.find(step.proxy);
  if (state == 0 && proxy != proxies_.events.end()) {
    ++proxy->second.steps;
    proxy->second.bytes += step.bytes;
  }
  step.state = state;
  step.since = time;
  step.bytes = std::max(step.bytes, bytes);
}

void RecordedNccl::endProxy(uint64_t id, int64_t time) {
  const auto known = proxies_.events.find(id);
  if (known == proxies_.events.end()) {
    ++without_parent_;
    return;
  }
  const Proxy& proxy = known->second;
  if (proxy.correlation != 0) {
    shared_.delta.comm_work.push(
        {.start_ns = proxy.start,
         .duration_ns = std::max<int64_t>(0, time - proxy.start),
         .process_id = process_,
         .correlation_id = proxy.correlation,
         .kind = proxy.part.is_send != 0 ? CommWorkKind::kSend : CommWorkKind::kReceive,
         .timing_source = TimingSource::kHost,
         .channel = proxy.part.channel,
         .peer = proxy.part.peer,
         .bytes = proxy.bytes,
         .steps = proxy.steps,
         .gpu_wait_ns = proxy.gpu_wait,
         .peer_wait_ns = proxy.peer_wait,
         .network_wait_ns = proxy.network_wait});
  }
  proxies_.events.erase(known);
}

/// What started so long ago that its end will not come any more: operations that have no channels,
/// because NCCL was not asked for them, or of which channels never end; calls that enqueue nothing.
void RecordedNccl::forgetOldest() {
  const auto forget = [](auto& started, const auto& forgetOne) {
    while (!started.order.empty()) {
      const uint64_t oldest = started.order.front();
      const bool is_under_way = started.events.contains(oldest);
      const bool has_room =
          started.events.size() <= kMostUnended && started.order.size() <= 16 * kMostUnended;
      if (is_under_way && has_room) return;
      if (is_under_way) forgetOne(oldest);
      started.order.pop_front();
    }
  };
  forget(channels_, [&](uint64_t id) { channels_.events.erase(id); });
  forget(proxies_, [&](uint64_t id) { endProxy(id, newest_); });
  forget(steps_, [&](uint64_t id) { steps_.events.erase(id); });
  while (ended_calls_.size() > kMostUnended) {
    const auto oldest = calls_.find(ended_calls_.front());
    if (oldest != calls_.end()) {
      writeWithoutOperation(oldest->first, oldest->second);
      calls_.erase(oldest);
    }
    ended_calls_.pop_front();
  }
  while (unended_.size() > kMostUnended) {
    const auto oldest = operations_.find(unended_.front());
    unended_.pop_front();
    if (oldest == operations_.end()) continue;
    writeWork(oldest->second);
    operations_.erase(oldest);
  }
}

void RecordedNccl::endPass() {
  forgetOldest();
  while (!unknown_.empty()) {
    const auto known = operations_.find(unknown_.front());
    if (known != operations_.end()) {
      const Operation& operation = known->second;
      if (newest_ - operation.last_end < kLongAgoNs) return;
      if (operation.ended_channels == operation.channels.size()) {
        writeWork(operation);
        operations_.erase(known);
      }
    }
    unknown_.pop_front();
  }
}

/// With the time that they have waited so far.
void RecordedNccl::finishProxies(int64_t end_ns) {
  for (const auto& [id, step] : steps_.events) addWait(step, end_ns);
  steps_ = {};
  while (!proxies_.events.empty()) endProxy(proxies_.events.begin()->first, end_ns);
  proxies_ = {};
}

void RecordedNccl::finish(int64_t end_ns) {
  finishProxies(std::max(end_ns, newest_));
  for (auto& [id, operation] : operations_) {
    if (!operation.is_written) writeComm(operation, operation.called, CommState::kCalled);
    writeWork(operation);
  }
  operations_.clear();
  std::vector<std::pair<uint64_t, Call>> calls(calls_.begin(), calls_.end());
  calls_.clear();
  // Those that have returned come first, because what is known of the others depends on them.
  std::sort(calls.begin(), calls.end(), [this](const auto& a, const auto& b) {
    return std::tuple(!hasReturned(a.second), a.second.start, a.first) <
           std::tuple(!hasReturned(b.second), b.second.start, b.first);
  });
  for (auto& [id, call] : calls) {
    if (!call.has_operation && call.part.is_captured == 0) writeWithoutOperation(id, call);
    if (call.end != 0) continue;
    call.end = call.start;
    writeCall(id, call);
  }
}

void RecordedNccl::writeClocks(bool finish) {
  for (auto& [number, context] : contexts_) {
    if (context.clock_domain == ClockDomainId::kNone) continue;
    for (const auto& s : context.clock.takeSnapshots(finish)) {
      shared_.delta.clock_snapshot.push({.domain_id = context.clock_domain,
                                         .host_ns = s.host_ns,
                                         .clock_value = s.clock_value,
                                         .error_ns = s.error_ns});
    }
  }
}

void RecordedNccl::restoreCommunicator(const CommunicatorRow& row) {
  contexts_[row.ordinal].row = row;
}

}  // namespace tracesmith
