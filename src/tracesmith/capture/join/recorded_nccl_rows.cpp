// SPDX-License-Identifier: Apache-2.0
// The rows of NCCL's calls and operations.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/join/recorded_nccl.hpp"
#include "tracesmith/model/names/data_type_names.hpp"
#include "tracesmith/model/names/nccl_names.hpp"

namespace tracesmith {
namespace {

using arena::NcclEvent;

CommKind kindOf(NcclEvent event, std::string_view function) {
  const bool is_message = event == NcclEvent::kMessage || event == NcclEvent::kMessageCall;
  if (!is_message) return CommKind::kCollective;
  return function == "Recv" ? CommKind::kReceive : CommKind::kSend;
}

}  // namespace

void RecordedNccl::writeCall(uint64_t id, const Call& call) {
  ++shared_.host_calls;
  shared_.delta.host_call.push(
      {.start_ns = call.start,
       .duration_ns = std::max<int64_t>(0, call.end - call.start),
       .name = shared_.delta.strings.intern("nccl" + std::string(textIn(call.part.function))),
       .process_id = process_,
       .thread_id = call.thread,
       .correlation_id = id,
       .kind = CallKind::kOther,
       .call_path_id = stacks_.pathOfCall(call.part.stack)});
}

void RecordedNccl::addBytes(const Operation& operation, CommRow& row) const {
  const uint64_t bytes =
      row.element_count * dataTypeBytes(ncclTypeName(textIn(operation.part.data_type)));
  const auto context = contexts_.find(operation.context);
  if (context == contexts_.end()) return;
  const CommBytes both =
      ncclBytes(textIn(operation.part.function), bytes, context->second.row.ranks,
                operation.part.peer == context->second.row.rank);
  row.send_bytes = both.sent;
  row.receive_bytes = both.received;
}

void RecordedNccl::writeComm(Operation& operation, int64_t end, CommState state) {
  StringTable& strings = shared_.delta.strings;
  const std::string_view function = textIn(operation.part.function);
  const auto context = contexts_.find(operation.context);
  const bool is_copy = operation.event == NcclEvent::kCopyCollective;
  CommRow row{
      .start_ns = operation.called,
      .duration_ns = std::max<int64_t>(0, end - operation.called),
      .function = strings.intern("nccl" + std::string(function)),
      .process_id = process_,
      .thread_id = operation.thread,
      .communicator_id =
          context == contexts_.end() ? CommunicatorId::kNone : context->second.row.id,
      .kind = kindOf(operation.event, function),
      .sequence = operation.sequence,
      .peer = ncclNamesRank(function) ? operation.part.peer : -1,
      .tag = -1,
      .correlation_id = operation.correlation,
      .element_count = operation.part.element_count,
      .data_type = strings.intern(ncclTypeName(textIn(operation.part.data_type))),
      .algorithm = strings.intern(is_copy ? kCopyEngines : textIn(operation.part.algorithm)),
      .protocol = strings.intern(textIn(operation.part.protocol)),
      .channels = operation.part.channels,
      .state = state,
      .stream = operation.stream,
      .send_buffer = operation.part.send_buffer,
      .receive_buffer = operation.part.receive_buffer,
      .group_id = operation.part.group,
      .is_captured = operation.is_captured ? 1u : 0u};
  if (row.kind == CommKind::kReceive) std::swap(row.send_buffer, row.receive_buffer);
  addBytes(operation, row);
  shared_.delta.comm.push(row);
  operation.is_written = true;
}

void RecordedNccl::writeWork(const Operation& operation) {
  CommWorkRow row{.process_id = process_,
                  .correlation_id = operation.correlation,
                  .timing_source = TimingSource::kDevice,
                  .channels = operation.ended_channels,
                  .peer = -1};
  int64_t seen_start = INT64_MAX, seen_end = 0, first = INT64_MAX, last = 0;
  for (const auto& [number, channel] : operation.channels) {
    seen_start = std::min(seen_start, channel.seen_start);
    if (channel.seen_end == 0) continue;
    seen_end = std::max(seen_end, channel.seen_end);
    if (channel.device_start == 0) row.timing_source = TimingSource::kHost;
    first = std::min(first, channel.device_start);
    last = std::max(last, channel.device_end);
  }
  if (seen_start == INT64_MAX) return;
  const auto context = contexts_.find(operation.context);
  const bool has_device_times = row.timing_source == TimingSource::kDevice && last > 0 &&
                                context != contexts_.end() && context->second.clock.observed();
  if (has_device_times) {
    const HostTime start = context->second.clock.toHostByBrackets(first);
    row.start_ns = start.ns;
    row.error_ns = start.error_ns;
    row.duration_ns = last - first;
    row.device_start = first;
    row.clock_domain_id = context->second.clock_domain;
  } else {
    row.timing_source = TimingSource::kHost;
    row.start_ns = seen_start;
    row.duration_ns = std::max<int64_t>(0, seen_end - seen_start);
  }
  shared_.delta.comm_work.push(row);
}

/// Of a call without an event of what it enqueued. NCCL has none for kernels that use symmetric
/// memory, nor in a communicator of one rank, nor if the call has not come so far.
void RecordedNccl::writeWithoutOperation(uint64_t id, const Call& call) {
  Operation none;
  none.event = call.event;
  none.context = call.context;
  none.correlation = id;
  none.called = call.start;
  none.stream = call.part.stream;
  none.thread = call.thread;
  std::memcpy(none.part.function, call.part.function, sizeof none.part.function);
  std::memcpy(none.part.data_type, call.part.data_type, sizeof none.part.data_type);
  none.part.element_count = call.part.element_count;
  none.part.peer = call.part.root;
  const bool has_returned = hasReturned(call);
  if (call.event == NcclEvent::kCollectiveCall) {
    Numbers& numbers = contexts_[call.context].numbers[std::string(textIn(call.part.function))];
    if (has_returned) {
      numbers.has_unnumbered = true;
    } else if (!numbers.has_unnumbered) {
      none.sequence = ++numbers.last;  // it would have been the next
    }
  }
  writeComm(none, has_returned ? call.end : call.start,
            has_returned ? CommState::kUnknown : CommState::kCalled);
}

}  // namespace tracesmith
