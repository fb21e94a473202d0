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

/// State of reading one log: passes its records to the importer and converts them to events.
class XRayImporter::Reading {
 public:
  Reading(XRayImporter& importer, XRaySymbols symbols)
      : to_(importer), symbols_(std::move(symbols)) {}

  Status read(import::ByteSource& source, import::DamageLog& damage);
  /// Returns the events by time, and completes the statistics.
  std::vector<TraceEvent> finish();

 private:
  uint64_t ns(uint64_t tsc) const {
    return static_cast<uint64_t>(import::ticksToNs(tsc, to_.header_.cycle_frequency));
  }
  bool addRecord(const import::XRayRecord& record);
  void addCall(const import::XRayCall& call);
  void addProgramEvent(const import::XRayRecord& record, uint64_t time_ns);

  XRayImporter& to_;
  XRaySymbols symbols_;
  import::XRayCalls calls_{[this](const import::XRayCall& call){addCall(call);
}
};  // namespace tracesmith
std::vector<TraceEvent> events_;
std::set<int32_t> identified_;
uint64_t first_ns_ = std::numeric_limits<uint64_t>::max();
uint64_t last_ns_ = 0;
}
;

Status XRayImporter::Reading::read(import::ByteSource& source, import::DamageLog& damage) {
  import::XRaySink sink;
  sink.header = [&](const import::XRayHeader& h) {
    to_.header_ = {h.version, static_cast<uint16_t>(h.mode), h.cycle_frequency, 0};
  };
  sink.record = [&](const import::XRayRecord& record) { return addRecord(record); };
  TS_CHECK_OK(import::readXRayLog(source, sink, damage));
  return checkCancelled();
}

bool XRayImporter::Reading::addRecord(const import::XRayRecord& r) {
  if (isCancelledAt(to_.statistics_.records_read)) return false;
  ++to_.statistics_.records_read;
  const uint64_t time = ns(r.tsc);
  first_ns_ = std::min(first_ns_, time);
  last_ns_ = std::max(last_ns_, time);
  const bool of_program = r.kind > XRayKind::kEnterArgument;
  to_.records_.push_back({.function_id = static_cast<uint32_t>(r.function),
                          .timestamp = time,
                          .type = typeOf(r.kind),
                          .thread_id = r.thread,
                          .cpu_id = r.cpu,
                          .function_name = of_program ? std::string() : symbols_.name(r.function)});
  calls_.add(r);
  if (of_program) addProgramEvent(r, time);
  return true;
}

void XRayImporter::Reading::addCall(const import::XRayCall& call) {
  const uint64_t start = ns(call.enter_tsc);
  const uint64_t length = std::max(ns(call.exit_tsc), start) - start;
  const bool whole =
      call.end == import::XRayEnd::kReturned || call.end == import::XRayEnd::kTailCalled;
  const uint64_t records = whole ? 2 : 1;
  if (to_.config_.filter_short_calls && length < to_.config_.min_duration_ns) {
    to_.statistics_.records_filtered += records;
    return;
  }
  to_.statistics_.records_converted += records;
  const bool has_entry = call.end != import::XRayEnd::kNotStarted;
  TraceEvent event(has_entry ? EventType::Marker : EventType::RangeEnd, start);
  event.duration = length;
  event.thread_id = call.thread;
  const std::string& name = symbols_.name(call.function);
  if (!name.empty()) identified_.insert(call.function);
  event.name = name.empty() ? "function #" + std::to_string(call.function) : name;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    event.metadata["args." + std::to_string(i)] = std::to_string(call.arguments[i]);
  }
  events_.push_back(std::move(event));
}

void XRayImporter::Reading::addProgramEvent(const import::XRayRecord& r, uint64_t time_ns) {
  ++to_.statistics_.custom_events;
  if (!to_.config_.include_custom_events) {
    ++to_.statistics_.records_filtered;
    return;
  }
  ++to_.statistics_.records_converted;
  TraceEvent event(EventType::Marker, time_ns);
  event.thread_id = r.thread;
  event.name = r.kind == XRayKind::kTypedEvent ? "typed event " + std::to_string(r.event_type)
                                               : std::string("custom event");
  event.custom_data.assign(r.data.begin(), r.data.end());
  events_.push_back(std::move(event));
}

std::vector<TraceEvent> XRayImporter::Reading::finish() {
  calls_.finish();
  to_.header_.num_records = to_.statistics_.records_read;
  to_.statistics_.functions_identified = identified_.size();
  if (last_ns_ > first_ns_) {
    to_.statistics_.total_duration_ms = static_cast<double>(last_ns_ - first_ns_) / 1e6;
  }
  const auto earlier = [](const TraceEvent& a, const TraceEvent& b) {
    return a.timestamp < b.timestamp;
  };
  if (std::is_sorted(events_.begin(), events_.end(), earlier)) return std::move(events_);
  // Events are large: each is moved once, instead of at each step of sorting.
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(events_.size());
  for (size_t i = 0; i < events_.size(); ++i) order.emplace_back(events_[i].timestamp, i);
  std::sort(order.begin(), order.end());
  std::vector<TraceEvent> sorted;
  sorted.reserve(events_.size());
  for (const auto& [time, i] : order) sorted.push_back(std::move(events_[i]));
  return sorted;
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
  Reading reading(*this, std::move(symbols));
  import::DamageLog damage;
  if (Status done = reading.read(**source, damage); !done) return failed(std::move(done).error());
  last_error_ = damage.summary();
  return reading.finish();
}

}  // namespace tracesmith
