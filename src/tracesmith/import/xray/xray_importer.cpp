// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xray/xray_importer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/import/xray/xray_calls.hpp"
#include "tracesmith/import/xray/xray_trace.hpp"
#include "tracesmith/stacks/symbols/xray_symbols.hpp"

namespace tracesmith {

using import::XRayKind;

namespace {

XRayEntryType typeOf(XRayKind kind) {
  switch (kind) {
    case XRayKind::kEnter:
    case XRayKind::kEnterArgument:
      return XRayEntryType::FunctionEnter;
    case XRayKind::kExit:
      return XRayEntryType::FunctionExit;
    case XRayKind::kTailExit:
      return XRayEntryType::TailExit;
    case XRayKind::kCustomEvent:
      return XRayEntryType::CustomEvent;
    case XRayKind::kTypedEvent:
      break;
  }
  return XRayEntryType::TypedEvent;
}

}  // namespace

std::vector<TraceEvent> XRayImporter::importFile(const std::string& path) {
  std::string binary = config_.symbol_file;
  if (binary.empty() && config_.resolve_symbols) binary = xrayBinaryBeside(path);
  return read(import::ByteSource::open(path), binary);
}

std::vector<TraceEvent> XRayImporter::importBuffer(const uint8_t* data, size_t size) {
  return read(std::make_unique<import::MemorySource>(ByteView(data, size)), config_.symbol_file);
}

std::vector<TraceEvent> XRayImporter::failed(Error reason) {
  last_error_ = reason.toString();
  last_status_ = tl::unexpected<Error>(std::move(reason));
  return {};
}

std::vector<TraceEvent> XRayImporter::read(Result<std::unique_ptr<import::ByteSource>> source,
                                           const std::string& binary) {
  records_.clear();
  statistics_ = {};
  header_ = {};
  last_error_.clear();
  last_status_ = {};
  if (!source) return failed(std::move(source).error());
  XRaySymbols symbols;
  if (config_.resolve_symbols && !binary.empty()) {
    Result<XRaySymbols> found = XRaySymbols::ofBinary(binary);
    if (!found) return failed(std::move(found).error());
    symbols = std::move(*found);
  }
  std::vector<TraceEvent> events;
  std::set<int32_t> identified;
  uint64_t first_ns = std::numeric_limits<uint64_t>::max();
  uint64_t last_ns = 0;
  const auto ns = [&](uint64_t tsc) {
    return static_cast<uint64_t>(import::ticksToNs(tsc, header_.cycle_frequency));
  };
  import::XRayCalls calls([&](const import::XRayCall& call) {
    const uint64_t start = ns(call.enter_tsc);
  const uint64_t length = std::max(ns(call.exit_tsc), start) - start;
  const bool whole =
      call.end == import::XRayEnd::kReturned || call.end == import::XRayEnd::kTailCalled;
  const uint64_t records = whole ? 2 : 1;
  if (config_.filter_short_calls && length < config_.min_duration_ns) {
    statistics_.records_filtered += records;
    return;
  }
  statistics_.records_converted += records;
  const bool begun = call.end != import::XRayEnd::kNeverBegun;
  TraceEvent event(begun ? EventType::Marker : EventType::RangeEnd, start);
  event.duration = length;
  event.thread_id = call.thread;
  const std::string& name = symbols.name(call.function);
  if (!name.empty()) identified.insert(call.function);
  event.name = name.empty() ? "function #" + std::to_string(call.function) : name;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    event.metadata["args." + std::to_string(i)] = std::to_string(call.arguments[i]);
  }
  events.push_back(std::move(event));
});
import::DamageLog damage;
import::XRaySink sink;
sink.header = [&](const import::XRayHeader& h) {
  header_ = {h.version, static_cast<uint16_t>(h.mode), h.cycle_frequency, 0};
};
sink.record = [&](const import::XRayRecord& r) {
  if (isCancelledAt(statistics_.records_read)) return false;
  ++statistics_.records_read;
  const uint64_t time = ns(r.tsc);
  first_ns = std::min(first_ns, time);
  last_ns = std::max(last_ns, time);
  const bool of_program = r.kind > XRayKind::kEnterArgument;
  records_.push_back({.function_id = static_cast<uint32_t>(r.function),
                      .timestamp = time,
                      .type = typeOf(r.kind),
                      .thread_id = r.thread,
                      .cpu_id = r.cpu,
                      .function_name = of_program ? std::string() : symbols.name(r.function)});
  calls.add(r);
  if (!of_program) return true;
  ++statistics_.custom_events;
  if (!config_.include_custom_events) {
    ++statistics_.records_filtered;
    return true;
  }
  ++statistics_.records_converted;
  TraceEvent event(EventType::Marker, time);
  event.thread_id = r.thread;
  event.name = r.kind == XRayKind::kTypedEvent ? "typed event " + std::to_string(r.event_type)
                                               : std::string("custom event");
  event.custom_data.assign(r.data.begin(), r.data.end());
  events.push_back(std::move(event));
  return true;
};
Result<uint64_t> done = import::readXRayLog(**source, sink, damage);
if (!done) return failed(std::move(done).error());
if (Status wanted = checkCancelled(); !wanted) return failed(std::move(wanted).error());
calls.finish();
last_error_ = damage.summary();
header_.num_records = statistics_.records_read;
statistics_.functions_identified = identified.size();
if (last_ns > first_ns) {
  statistics_.total_duration_ms = static_cast<double>(last_ns - first_ns) / 1e6;
}
std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
  return a.timestamp < b.timestamp;
});
return events;
}  // namespace tracesmith

}  // namespace tracesmith
