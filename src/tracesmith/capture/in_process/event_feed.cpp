// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/event_feed.hpp"

#include <iterator>
#include <unordered_set>
#include <utility>

namespace tracesmith {
namespace {

/// Process and correlation id, which together identify a piece of work.
using Work = std::pair<ProcessId, uint64_t>;
using WorkSet = std::set<Work>;

WorkSet deviceWork(const Trace& trace) {
  WorkSet work;
  auto add = [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      work.emplace(table.process_id[i], table.correlation_id[i]);
    }
  };
  add(trace.kernel);
  add(trace.copy);
  add(trace.fill);
  return work;
}

bool startsDeviceWork(const HostCallRow& call) {
  return call.result == 0 && call.correlation_id != 0 &&
         (call.kind == CallKind::kLaunch || call.kind == CallKind::kCopy ||
          call.kind == CallKind::kFill);
}

bool isObject(EventType type) {
  return type == EventType::StreamCreate || type == EventType::StreamDestroy ||
         type == EventType::ContextCreate || type == EventType::ContextDestroy;
}

}  // namespace

std::vector<TraceEvent> EventFeed::next(Trace part) {
  const WorkSet work = deviceWork(part);
  std::vector<HostCallRow> calls = std::move(waiting_);
  waiting_.clear();
  for (size_t i = 0; i < part.host_call.size(); ++i) calls.push_back(part.host_call.row(i));
  part.host_call.resize(0);
  for (const HostCallRow& call : calls) {
    const bool waits =
        startsDeviceWork(call) && !work.count({call.process_id, call.correlation_id});
    if (waits) {
      waiting_.push_back(call);
    } else {
      part.host_call.push(call);
    }
  }
  return makeEvents(part);
}

std::vector<TraceEvent> EventFeed::flush(Trace dictionaries) {
  forEachTable(dictionaries, [](auto& table) {
    if constexpr (std::decay_t<decltype(table)>::kId > TableId::kLoss) table.resize(0);
  });
  for (const HostCallRow& call : waiting_) dictionaries.host_call.push(call);
  waiting_.clear();
  return makeEvents(dictionaries);
}

std::vector<TraceEvent> EventFeed::makeEvents(const Trace& trace) {
  std::vector<TraceEvent> events = toEvents(trace);
  std::erase_if(events, [&](const TraceEvent& e) {
    return isObject(e.type) &&
           !objects_.emplace(e.type, e.timestamp, e.device_id, e.stream_id).second;
  });
  return events;
}

}  // namespace tracesmith
