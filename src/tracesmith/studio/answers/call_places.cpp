// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/answers/call_places.hpp"

#include <algorithm>
#include <unordered_map>

#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

namespace tracesmith::studio {
namespace {

/// The first call of the trace on the same thread between a recorded call and the next one.
struct Best {
  int64_t start_ns = INT64_MAX;
  uint32_t row = LaunchIndex::kNone;
};

struct Wanted {
  int64_t start_ns;
  size_t index;  // in the calls
};

template <class Table, class Id>
bool isRowOf(const Table& table, Id id) {
  return id != Id::kNone && indexOf(id) < table.size();
}

/// The wanted calls of each thread of the trace, by start.
std::vector<std::vector<Wanted>> wantedByThread(const Trace& trace,
                                                std::span<const RecordedCall> calls) {
  std::unordered_map<uint64_t, std::vector<Wanted>> by_id;
  for (size_t i = 0; i < calls.size(); ++i) {
    by_id[uint64_t{calls[i].pid} << 32 | calls[i].thread].push_back({calls[i].start_ns, i});
  }
  std::vector<std::vector<Wanted>> out(trace.thread.size());
  for (size_t row = 0; row < out.size(); ++row) {
    const ProcessId process = trace.thread.process_id[row];
    if (!isRowOf(trace.process, process)) continue;
    const auto found =
        by_id.find(uint64_t{trace.process.pid[indexOf(process)]} << 32 | trace.thread.tid[row]);
    if (found == by_id.end()) continue;
    out[row] = found->second;
    std::sort(out[row].begin(), out[row].end(),
              [](const Wanted& a, const Wanted& b) { return a.start_ns < b.start_ns; });
  }
  return out;
}

std::vector<Best> callsOf(const Trace& trace, std::span<const RecordedCall> calls) {
  std::vector<Best> best(calls.size());
  const std::vector<std::vector<Wanted>> wanted = wantedByThread(trace, calls);
  const HostCallTable& table = trace.host_call;
  for (uint32_t row = 0; row < table.size(); ++row) {
    const ThreadId thread = table.thread_id[row];
    if (!isRowOf(trace.thread, thread) || wanted[indexOf(thread)].empty()) continue;
    const std::vector<Wanted>& of = wanted[indexOf(thread)];
    const int64_t start = table.start_ns[row];
    const auto after = std::upper_bound(
        of.begin(), of.end(), start, [](int64_t at, const Wanted& w) { return at < w.start_ns; });
    if (after == of.begin()) continue;
    // The recorded call is the outer one: it starts before the call of the trace.
    const size_t index = std::prev(after)->index;
    const bool launches = table.kind[row] == CallKind::kLaunch;
    if (start >= calls[index].next_ns || launches != calls[index].launches) continue;
    if (start < best[index].start_ns) best[index] = {start, row};
  }
  return best;
}

template <class Table>
void findWork(const StudioTrace& of, const Table& table, TableId id,
              const std::unordered_map<uint32_t, size_t>& by_row, std::vector<CallPlace>& out) {
  for (uint32_t row = 0; row < table.size(); ++row) {
    const DeviceSpan span{table.start_ns[row], endOf(table.start_ns[row], table.duration_ns[row]),
                          id, row};
    const auto found = by_row.find(of.launchOf(span));
    if (found != by_row.end() && !out[found->second].work) out[found->second].work = span;
  }
}

void writeSpan(const char* key, int64_t zero_ns, const std::optional<DeviceSpan>& span,
               JsonWriter& out) {
  out.key(key);
  if (!span) {
    out.null();
    return;
  }
  out.beginArray()
      .value(relativeTo(zero_ns, span->begin_ns))
      .value(relativeTo(zero_ns, span->end_ns))
      .endArray();
}

}  // namespace

std::vector<CallPlace> placesOf(const StudioTrace& of, std::span<const RecordedCall> calls) {
  std::vector<CallPlace> out(calls.size());
  if (calls.empty()) return out;
  const Trace& trace = of.trace();
  const std::vector<Best> best = callsOf(trace, calls);
  std::unordered_map<uint32_t, size_t> by_row;
  for (size_t i = 0; i < best.size(); ++i) {
    if (best[i].row == LaunchIndex::kNone) continue;
    by_row.emplace(best[i].row, i);
    const int64_t end = endOf(best[i].start_ns, trace.host_call.duration_ns[best[i].row]);
    out[i].call = DeviceSpan{best[i].start_ns, end, TableId::kHostCall, best[i].row};
  }
  if (by_row.empty()) return out;
  findWork(of, trace.kernel, TableId::kKernel, by_row, out);
  findWork(of, trace.copy, TableId::kCopy, by_row, out);
  findWork(of, trace.fill, TableId::kFill, by_row, out);
  // Several recorded calls may have the same call of the trace.
  for (size_t i = 0; i < best.size(); ++i) {
    if (best[i].row != LaunchIndex::kNone) out[i].work = out[by_row.at(best[i].row)].work;
  }
  return out;
}

RecordedCall callOfStep(const StudioRecording& recording, StepIndex step) {
  const std::span<const ReplayStep> steps = recording.plan().steps();
  const recording::CommandHeader& header = steps[step].header;
  RecordedCall out{recording.process().pid, header.thread, header.start_ns, INT64_MAX,
                   header.kind == recording::CommandKind::kLaunch};
  for (size_t next = step + 1; next < steps.size(); ++next) {
    const recording::CommandHeader& other = steps[next].header;
    if (other.thread != header.thread || other.start_ns <= header.start_ns) continue;
    out.next_ns = other.start_ns;
    break;
  }
  return out;
}

void writePlace(const StudioTrace& of, const RecordedCall& call, const CallPlace& place,
                JsonWriter& out) {
  const int64_t zero = of.rows().zero_ns;
  out.beginObject().field("at_ns", relativeTo(zero, call.start_ns));
  writeSpan("call", zero, place.call, out);
  writeSpan("work", zero, place.work, out);
  out.endObject();
}

}  // namespace tracesmith::studio
