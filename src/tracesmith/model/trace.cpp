// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/trace.hpp"

#include <algorithm>
#include <limits>

namespace tracesmith {

Trace::Trace() = default;
Trace::~Trace() = default;
Trace::Trace(const Trace&) = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(const Trace&) = default;
Trace& Trace::operator=(Trace&&) noexcept = default;
namespace {

template <class Id, class Column>
auto lookup(const Column& column, Id id) -> typename Column::value_type {
  const auto i = static_cast<size_t>(id);
  return i == 0 || i > column.size() ? typename Column::value_type{} : column[i - 1];
}

}  // namespace

DeviceId Trace::deviceOf(StreamId id) const { return lookup(stream.device_id, id); }
ContextId Trace::contextOf(StreamId id) const { return lookup(stream.context_id, id); }

std::string_view Trace::metadataValue(std::string_view key) const {
  for (size_t i = metadata.size(); i-- > 0;) {
    if (text(metadata.key[i]) == key) return text(metadata.value[i]);
  }
  return {};
}

void Trace::setMetadata(std::string_view key, std::string_view value) {
  metadata.push({.key = strings.intern(key), .value = strings.intern(value)});
}

TimeRange timeRange(const Trace& trace) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
  auto spans = [&](const auto& t) {
    for (size_t i = 0; i < t.size(); ++i) {
      begin = std::min(begin, t.start_ns[i]);
      end = std::max(end, endOf(t.start_ns[i], t.duration_ns[i]));
    }
  };
  auto instants = [&](const auto& t) {
    for (int64_t time : t.time_ns) {
      begin = std::min(begin, time);
      end = std::max(end, time);
    }
  };
  spans(trace.host_call);
  spans(trace.kernel);
  spans(trace.copy);
  spans(trace.fill);
  spans(trace.sync);
  spans(trace.program_build);
  spans(trace.range);
  instants(trace.memory_event);
  instants(trace.counter);
  if (trace.begin_ns) begin = std::min(begin, *trace.begin_ns);
  if (begin > end) return trace.begin_ns ? TimeRange{begin, begin} : TimeRange{};
  return {begin, end};
}

}  // namespace tracesmith
