// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xray/xray_trace.hpp"

#include <simdjson.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/common/trace_builder.hpp"
#include "tracesmith/import/xray/xray_calls.hpp"
#include "tracesmith/import/xray/xray_log.hpp"
#include "tracesmith/stacks/symbols/xray_symbols.hpp"

namespace tracesmith::import {

using Wide = unsigned __int128;

int64_t ticksToNs(uint64_t ticks, uint64_t frequency) {
  constexpr uint64_t kSecond = 1'000'000'000;
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  const Wide ns = frequency == 0 || frequency == kSecond
                      ? Wide{ticks}
                      : (Wide{ticks} * kSecond + frequency / 2) / frequency;
  return ns > Wide{static_cast<uint64_t>(kMost)} ? kMost : static_cast<int64_t>(ns);
}

namespace {

constexpr uint64_t kNanosecondTicks = 1'000'000'000;  // Hz
constexpr size_t kLongestEventName = 200;

/// Names of the kinds, as in LLVM's own tools.
std::string_view wordFor(XRayKind kind) {
  switch (kind) {
    case XRayKind::kEnter:
      return "function-enter";
    case XRayKind::kExit:
      return "function-exit";
    case XRayKind::kTailExit:
      return "function-tail-exit";
    case XRayKind::kEnterArgument:
      return "function-enter-arg";
    case XRayKind::kCustomEvent:
      return "custom-event";
    case XRayKind::kTypedEvent:
      return "typed-event";
  }
  return "";
}

bool isPrintable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return !text.empty() && simdjson::validate_utf8(text.data(), text.size());
}

constexpr bool fits(uint64_t value) {
  return value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

/// Builds the source of a row as a JSON object, gap by gap.
class SourceText {
 public:
  /// `known`: the resulting shape, if it already exists; then only values are collected, all of
  /// which must fit().
  void begin(uint32_t known = 0) {
    known_ = known;
    kept_.clear();
    if (known_ != 0) return;
    shape_ = {};
    piece_ = "{";
  }
  void word(std::string_view key, std::string_view value) {
    if (known_ != 0) return;
    member(key);
    piece_.append("\"").append(value).append("\"");
  }
  /// Adds a value that the row holds.
  void held(std::string_view key, SourceGap gap) { gapFor(key, gap); }
  void number(std::string_view key, uint64_t value, TraceBuilder& builder) {
    if (fits(value)) {
      gapFor(key, SourceGap::kInteger);
      kept_.push_back(static_cast<int64_t>(value));
    } else {
      gapFor(key, SourceGap::kJson);
      kept_.push_back(static_cast<int64_t>(builder.text(std::to_string(value))));
    }
  }
  void text(std::string_view key, StringId value) {
    gapFor(key, SourceGap::kText);
    kept_.push_back(static_cast<int64_t>(value));
  }
  void open(std::string_view key) {
    if (known_ != 0) return;
    member(key);
    piece_ += '{';
    under_.append(key).append(".");
  }
  void close() {
    if (known_ != 0) return;
    piece_ += '}';
    under_.clear();
  }
  /// Keeps the source and returns its shape.
  uint32_t keep(TraceBuilder& builder, TableId table) {
    if (known_ == 0) {
      shape_.between.push_back(piece_ + "}");
      known_ = builder.sourceShape(shape_);
    }
    builder.keep(table, known_, kept_);
    return known_;
  }

 private:
  void member(std::string_view key) {
    if (piece_.empty() || piece_.back() != '{') piece_ += ',';
    piece_.append("\"").append(key).append("\":");
  }
  void gapFor(std::string_view key, SourceGap gap) {
    if (known_ != 0) return;
    member(key);
    shape_.between.push_back(std::move(piece_));
    shape_.gaps.push_back({gap, under_ + std::string(key)});
    piece_.clear();
  }

  SourceShape shape_;
  std::string piece_;
  std::string under_;
  std::vector<int64_t> kept_;
  uint32_t known_ = 0;
};

class XRayTrace {
 public:
  XRayTrace(TraceWriter& writer, Trace facts, const XRayHeader& header, const XRaySymbols& symbols)
      : builder_(writer, std::move(facts)),
        header_(header),
        symbols_(symbols),
        calls_([this](const XRayCall& call) { this->call(call); }),
        function_category_(builder_.text("XRay function")),
        custom_category_(builder_.text("XRay custom event")),
        typed_category_(builder_.text("XRay typed event")) {
    builder_.setMetadata("xray.version", std::to_string(header.version));
    builder_.setMetadata("xray.mode", header.mode == XRayMode::kBasic ? "basic" : "FDR");
    builder_.setMetadata("xray.constant_tsc", header.constant_tsc ? "true" : "false");
    builder_.setMetadata("xray.nonstop_tsc", header.nonstop_tsc ? "true" : "false");
    builder_.setMetadata("xray.cycle_frequency", header.cycle_frequency == 0
                                                     ? "unknown; a tick is shown as 1 ns"
                                                     : std::to_string(header.cycle_frequency));
    if (header.mode == XRayMode::kFdr) {
      builder_.setMetadata("xray.buffer_bytes", std::to_string(header.bufferBytes()));
    }
  }

  TraceBuilder& builder() { return builder_; }
  void buffer(const XRayBuffer& buffer);
  bool record(const XRayRecord& record);
  Status finish(const DamageLog& damage, ImportCounts& counts);

 private:
  struct Place {
    ProcessId process{};
    ThreadId thread{};
  };
  Place place(uint32_t process, uint32_t thread);
  StringId nameOf(int32_t function);
  int64_t ns(uint64_t tsc) const { return ticksToNs(tsc, header_.cycle_frequency); }
  /// Whether the tick can be recovered exactly from the trace's time.
  bool exact(uint64_t tsc) const {
    return (header_.cycle_frequency == kNanosecondTicks || header_.cycle_frequency == 0) &&
           tsc <= static_cast<uint64_t>(SpansOfSource::kFarthestNs);
  }
  void call(const XRayCall& call);
  void event(const XRayRecord& record);
  void clocks();

  TraceBuilder builder_;
  const XRayHeader& header_;
  const XRaySymbols& symbols_;
  XRayCalls calls_;
  StringId function_category_, custom_category_, typed_category_;
  SourceText source_;
  std::array<uint32_t, 128> call_shapes_{};
  std::unordered_map<uint64_t, Place> places_;
  uint64_t last_place_ = ~uint64_t{0};
  Place last_;
  std::unordered_map<int32_t, StringId> names_;
  uint64_t records_ = 0;
  uint64_t unnamed_ = 0;
  SpansOfSource spans_;
  uint64_t in_no_table_ = 0;
  std::optional<uint64_t> first_tsc_;
  std::optional<XRayBuffer> first_buffer_;
};

XRayTrace::Place XRayTrace::place(uint32_t process, uint32_t thread) {
  const uint64_t key = uint64_t{process} << 32 | thread;
  if (key == last_place_) return last_;
  const auto [it, fresh] = places_.try_emplace(key);
  if (fresh) it->second = {builder_.process(process), builder_.thread(process, thread)};
  last_place_ = key;
  return last_ = it->second;
}

StringId XRayTrace::nameOf(int32_t function) {
  const auto [it, fresh] = names_.try_emplace(function);
  if (fresh) {
    const std::string& name = symbols_.name(function);
    if (name.empty()) ++unnamed_;
    it->second = builder_.text(name.empty() ? "function #" + std::to_string(function) : name);
  }
  return it->second;
}

void XRayTrace::buffer(const XRayBuffer& buffer) {
  if (!first_buffer_ && buffer.first_tsc != 0) first_buffer_ = buffer;
  source_.begin();
  source_.word("kind", "buffer");
  source_.number("thread", buffer.thread, builder_);
  source_.number("process", buffer.process, builder_);
  source_.number("wall-seconds", buffer.wall_seconds, builder_);
  source_.number("wall-micros", buffer.wall_micros, builder_);
  source_.number("tsc", buffer.first_tsc, builder_);
  source_.number("bytes", buffer.bytes, builder_);
  source_.keep(builder_, SourceRows::kNone);
  builder_.added();
}

bool XRayTrace::record(const XRayRecord& record) {
  ++records_;
  if (!first_tsc_) first_tsc_ = record.tsc;
  calls_.add(record);
  if (record.kind > XRayKind::kEnterArgument) event(record);
  return !builder_.failed();
}

void XRayTrace::call(const XRayCall& call) {
  const Place at = place(call.process, call.thread);
  const bool has_entry = call.end != XRayEnd::kNotStarted;
  const bool left = call.end == XRayEnd::kReturned || call.end == XRayEnd::kTailCalled;
  const int64_t start_ns = ns(call.enter_tsc);
  const bool placed = spans_.isTime(start_ns);
  int64_t duration_ns = 0;
  if (placed) {
    duration_ns = spans_.between(start_ns, ns(call.exit_tsc));
    builder_.rows.range.push({.start_ns = start_ns,
                              .duration_ns = duration_ns,
                              .kind = has_entry ? RangeKind::kRange : RangeKind::kEnd,
                              .name = nameOf(call.function),
                              .category = function_category_,
                              .process_id = at.process,
                              .thread_id = at.thread});
  } else {
    in_no_table_ += has_entry && left ? 2 : 1;
  }
  const bool ticks_held = placed && exact(call.enter_tsc) && exact(call.exit_tsc) &&
                          call.exit_tsc >= call.enter_tsc &&
                          start_ns + duration_ns == ns(call.exit_tsc);
  const auto tick = [&](uint64_t tsc, SourceGap gap) {
    if (ticks_held) {
      source_.held("tsc", gap);
    } else {
      source_.number("tsc", tsc, builder_);
    }
  };
  // Most calls have one of a few shapes, selected by these properties; rare ones build their shape
  // each time.
  bool alike = call.arguments.size() < 2 && fits(call.enter_tsc) && fits(call.exit_tsc);
  for (const uint64_t argument : call.arguments) alike = alike && fits(argument);
  const size_t which =
      (static_cast<size_t>(call.end) << 4 | static_cast<size_t>(call.enter_kind) << 2 |
       static_cast<size_t>(ticks_held) << 1 | call.arguments.size());
  source_.begin(alike ? call_shapes_[which] : 0);
  source_.number("func-id", static_cast<uint32_t>(call.function), builder_);
  source_.word("kind", wordFor(call.enter_kind));
  source_.number("cpu", call.enter_cpu, builder_);
  tick(call.enter_tsc, SourceGap::kTimeNanos);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    source_.number("args." + std::to_string(i), call.arguments[i], builder_);
  }
  if (left) {
    source_.open("exit");
    source_.word("kind", wordFor(call.exit_kind));
    source_.number("cpu", call.exit_cpu, builder_);
    tick(call.exit_tsc, SourceGap::kEndNanos);
    source_.close();
  } else if (has_entry) {
    source_.word("exit",
                 call.end == XRayEnd::kWithCaller ? "missing: ended with its caller" : "missing");
  }
  const uint32_t shape = source_.keep(builder_, placed ? TableId::kRange : SourceRows::kNone);
  if (alike) call_shapes_[which] = shape;
  builder_.added();
}

void XRayTrace::event(const XRayRecord& record) {
  const Place at = place(record.process, record.thread);
  const bool typed = record.kind == XRayKind::kTypedEvent;
  const bool plain = isPrintable(record.data);
  std::string name =
      typed ? "typed event " + std::to_string(record.event_type) : std::string("custom event");
  if (plain && record.data.size() <= kLongestEventName) name = record.data;
  const bool placed = spans_.isTime(ns(record.tsc));
  if (placed) {
    builder_.rows.range.push({.start_ns = ns(record.tsc),
                              .kind = RangeKind::kInstant,
                              .name = builder_.text(name),
                              .category = typed ? typed_category_ : custom_category_,
                              .process_id = at.process,
                              .thread_id = at.thread});
  } else {
    ++in_no_table_;
  }
  source_.begin();
  source_.word("kind", wordFor(record.kind));
  if (typed) source_.number("event-type", record.event_type, builder_);
  source_.number("cpu", record.cpu, builder_);
  if (placed && exact(record.tsc)) {
    source_.held("tsc", SourceGap::kTimeNanos);
  } else {
    source_.number("tsc", record.tsc, builder_);
  }
  source_.text(plain ? "data" : "data-hex",
               builder_.text(plain ? std::string(record.data) : hexOf(record.data)));
  source_.keep(builder_, placed ? TableId::kRange : SourceRows::kNone);
  builder_.added();
}

/// Writes what is known about the counter's zero.
void XRayTrace::clocks() {
  Trace& rows = builder_.rows;
  if (first_buffer_) {
    const XRayBuffer& b = *first_buffer_;
    rows.clock_domain.push({.id = idAt<ClockDomainId>(0),
                            .kind = ClockKind::kHostMonotonic,
                            .name = rows.strings.intern("CLOCK_MONOTONIC of the log's buffers")});
    rows.clock_snapshot.push(
        {.domain_id = idAt<ClockDomainId>(0),
         .host_ns = ns(b.first_tsc),
         .clock_value = ticksToNs(b.wall_seconds, 1) > std::numeric_limits<int64_t>::max() / 2
                            ? 0
                            : ticksToNs(b.wall_seconds, 1) + int64_t{b.wall_micros} * 1000,
         .error_ns = 1000});
  } else if (first_tsc_ && header_.cycle_frequency == kNanosecondTicks) {
    // If the processor's counter cannot be used, the runtime uses CLOCK_REALTIME instead. A counter
    // in ns with a value above thirty years is taken for that.
    constexpr int64_t kThirtyYears = int64_t{30} * 365 * 86'400 * 1'000'000'000;
    if (ns(*first_tsc_) > kThirtyYears) builder_.unixTime(ns(*first_tsc_), ns(*first_tsc_));
  }
}

Status XRayTrace::finish(const DamageLog& damage, ImportCounts& counts) {
  calls_.finish();
  clocks();
  counts.events = records_;
  counts.rows = records_ - in_no_table_;
  counts.others = in_no_table_;
  counts.damage = damage.places();
  const auto say = [&](uint64_t count, const std::string& what) {
    if (count > 0) counts.notes.push_back(std::to_string(count) + " " + what);
  };
  say(calls_.count(XRayEnd::kNotStarted), "exits of functions that were not entered before");
  say(calls_.count(XRayEnd::kWithCaller),
      "functions whose exit is missing end when their caller does");
  say(calls_.count(XRayEnd::kLogEnded),
      "functions still running when the log ends end at its last time");
  std::string lost = damage.summary();
  for (const std::string& note : counts.notes) lost += (lost.empty() ? "" : "; ") + note;
  spans_.tell(counts.notes, lost);
  if (header_.cycle_frequency == 0 && records_ > 0) {
    counts.notes.emplace_back("the log does not give the length of a tick: 1 ns is shown for each");
  }
  if (unnamed_ > 0) {
    counts.notes.push_back(
        std::to_string(unnamed_) +
        (symbols_.functions() == 0
             ? " functions have numbers instead of names; --binary PROGRAM, the one "
               "that wrote the log, would name them"
             : " functions have no name in the program"));
  }
  return builder_.finish(counts, lost);
}

bool recognisesXRay(const ImportInput& input) { return looksLikeXRay(asBytes(input.head)); }

Result<ImportCounts> runXRay(const ImportInput& input, TraceWriter& writer, Trace facts) {
  std::string binary = input.options.binary;
  if (binary.empty()) binary = xrayBinaryBeside(input.path);
  TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
  return importXRay(*source, binary, writer, std::move(facts));
}

}  // namespace

Result<ImportCounts> importXRay(ByteSource& source, const std::string& binary, TraceWriter& writer,
                                Trace facts) {
  XRaySymbols symbols;
  if (!binary.empty()) {
    TS_TRY(symbols, XRaySymbols::ofBinary(binary));
    facts.setMetadata("xray.binary", binary);
  }
  std::optional<XRayTrace> trace;
  std::optional<XRayHeader> header;
  DamageLog damage;
  XRaySink sink;
  sink.header = [&](const XRayHeader& h) {
    header = h;
    trace.emplace(writer, std::move(facts), *header, symbols);
  };
  sink.buffer = [&](const XRayBuffer& buffer) { trace->buffer(buffer); };
  sink.record = [&](const XRayRecord& record) { return trace->record(record); };
  TS_TRY(const uint64_t bytes, readXRayLog(source, sink, damage));
  ImportCounts counts;
  counts.bytes = bytes;
  TS_CHECK_OK(trace->finish(damage, counts));
  return counts;
}

constinit const Importer kXRayImporter = {"LLVM XRay log", "",    recognisesXRay,
                                          runXRay,         false, true};

}  // namespace tracesmith::import
