// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_track_event.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

namespace pe = perfetto_numbers::event;
using proto::Field;

/// Annotations that columns may hold, by the names of TraceSmith's exporter and of Kineto.
constexpr std::array<std::string_view, 17> kWanted = {
    "correlation_id", "correlation", "device",  "stream",  "context",       "bytes",
    "result",         "subject",     "program", "options", "log_bytes",     "asynchronous",
    "unfinished",     "stray_end",   "Device",  "Stream",  "Correlation ID"};

std::string_view wanted(std::string_view name) {
  const auto it = std::find(kWanted.begin(), kWanted.end(), name);
  return it != kWanted.end() ? *it : std::string_view{};
}

/// Saturates times that do not fit.
int64_t nanoseconds(uint64_t us) {
  constexpr int64_t kMicrosecondNs = 1000;
  int64_t ns = 0;
  const auto signed_us = static_cast<int64_t>(us);
  if (!__builtin_mul_overflow(signed_us, kMicrosecondNs, &ns)) return ns;
  return signed_us < 0 ? INT64_MIN : INT64_MAX;
}

PerfettoAction actionOfType(uint64_t type) {
  switch (type) {
    case pe::kBegin:
      return PerfettoAction::kBegin;
    case pe::kEnd:
      return PerfettoAction::kEnd;
    case pe::kInstant:
      return PerfettoAction::kInstant;
    case pe::kCounter:
      return PerfettoAction::kCounter;
    default:
      return PerfettoAction::kNone;
  }
}

/// `phase`: as in Chrome's JSON. Sets `async` if the event is on the track of its id.
PerfettoAction actionOfPhase(char phase, bool& async) {
  switch (phase) {
    case 'B':
      return PerfettoAction::kBegin;
    case 'E':
      return PerfettoAction::kEnd;
    case 'X':
      return PerfettoAction::kComplete;
    case 'i':
    case 'I':
    case 'R':
      return PerfettoAction::kInstant;
    case 's':
    case 't':
    case 'f':
      return PerfettoAction::kFlow;
    case 'M':
      return PerfettoAction::kMetadata;
    default:
      break;
  }
  async = true;
  switch (phase) {
    case 'b':
    case 'S':
      return PerfettoAction::kBegin;
    case 'e':
    case 'F':
      return PerfettoAction::kEnd;
    case 'n':
    case 'T':
    case 'p':
      return PerfettoAction::kInstant;
    default:
      async = false;
      return PerfettoAction::kNone;
  }
}

class Reading {
 public:
  Reading(PerfettoSequence& sequence, TraceBuilder& builder, SpansOfSource& spans, PerfettoRead& to)
      : sequence_(sequence), builder_(builder), spans_(spans), r_(to) {}

  void read(std::string_view bytes);

 private:
  void annotation(std::string_view bytes);
  void field(const Field& f);
  void categoriesByNumber(const Field& f);
  void nameByNumber(uint64_t iid);
  void gpuCorrelation(std::string_view bytes);
  void extraDoubles(const Field& f);
  void ownTime(const Field& f);
  void legacy(std::string_view bytes);
  void asyncScope(std::string_view id_scope);
  StringId named(const PerfettoSequence::Names& names, uint64_t iid) const {
    const auto it = names.find(iid);
    return it != names.end() ? it->second : StringId::kNone;
  }
  void category(std::string_view one) {
    if (!categories_.empty()) categories_ += ',';
    categories_ += one;
  }

  PerfettoSequence& sequence_;
  TraceBuilder& builder_;
  SpansOfSource& spans_;
  PerfettoRead& r_;
  std::string categories_;
  std::string_view legacy_;
  bool named_ = false;
};

void Reading::annotation(std::string_view bytes) {
  const PerfettoValue value = readAnnotation(sequence_, bytes, builder_);
  PerfettoEvent& e = r_.event;
  const std::string_view column = wanted(value.name);
  switch (value.type) {
    case PerfettoValue::kInteger:
      e.kept.integer(value.name, value.integer);
      if (!column.empty()) e.numbers.emplace_back(column, value.integer);
      break;
    case PerfettoValue::kText: {
      const StringId text = builder_.text(value.text);
      e.kept.text(value.name, text);
      if (r_.first_text == StringId::kNone) r_.first_text = text;
      if (!column.empty()) e.words.emplace_back(column, text);
      break;
    }
    case PerfettoValue::kJson:
      e.kept.json(value.name, builder_.json(value.text));
      break;
  }
}

/// Reads times and counts of the event itself. They are either differences to the previous event on
/// the sequence, or absolute values, which do not change the base of the differences.
void Reading::ownTime(const Field& f) {
  PerfettoReferences& from = sequence_.references;
  switch (f.number) {
    case pe::kTimeDelta:
      r_.has_own_time = true;
      if (!from.known) break;
      from.time_ns = wrappingSum(from.time_ns, nanoseconds(f.value));
      r_.time_ns = from.time_ns;
      break;
    case pe::kAbsoluteTime:
      if (f.value == 0) break;  // treated as missing
      r_.has_own_time = true;
      r_.time_ns = nanoseconds(f.value);
      break;
    case pe::kThreadTimeDelta:
      if (!from.known) break;
      from.thread_time_ns = wrappingSum(from.thread_time_ns, nanoseconds(f.value));
      r_.thread_time_ns = from.thread_time_ns;
      break;
    case pe::kAbsoluteThreadTime:
      r_.thread_time_ns = nanoseconds(f.value);
      break;
    case pe::kInstructionsDelta:
      if (!from.known) break;
      from.instructions = wrappingSum(from.instructions, static_cast<int64_t>(f.value));
      r_.instructions = from.instructions;
      break;
    default:
      r_.instructions = static_cast<int64_t>(f.value);
  }
}

/// Reads interned categories; unknown ones are left out.
void Reading::categoriesByNumber(const Field& f) {
  for (const uint64_t iid : packedVarints(f.wire_type, f.value, f.bytes)) {
    const StringId name = named(sequence_.categories, iid);
    if (name != StringId::kNone) category(builder_.rows.text(name));
  }
}

void Reading::gpuCorrelation(std::string_view bytes) {
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pe::gpu_correlation::kSubmitted) r_.submitted.push_back(f.value);
    if (f.number == pe::gpu_correlation::kWaitedFor) r_.event.waited_for.push_back(f.value);
  });
}

void Reading::nameByNumber(uint64_t iid) {
  named_ = true;
  const StringId name = named(sequence_.event_names, iid);
  if (name != StringId::kNone) r_.event.name = name;
}

void Reading::extraDoubles(const Field& f) {
  for (const uint64_t v : fixedValues(f)) r_.extra_doubles.push_back(std::bit_cast<double>(v));
}

void Reading::field(const Field& f) {
  PerfettoEvent& e = r_.event;
  const auto append = [](const auto& values, auto& to) {
    to.insert(to.end(), values.begin(), values.end());
  };
  const auto varints = [&] { return packedVarints(f.wire_type, f.value, f.bytes); };
  switch (f.number) {
    case pe::kAnnotations:
      break;
    case pe::kTimeDelta:
    case pe::kAbsoluteTime:
    case pe::kThreadTimeDelta:
    case pe::kAbsoluteThreadTime:
    case pe::kInstructionsDelta:
    case pe::kAbsoluteInstructions:
      ownTime(f);
      break;
    case pe::kType:
      r_.type = f.value;
      break;
    case pe::kTrackUuid:
      r_.track = f.value;
      r_.has_track = true;
      break;
    case pe::kCategoryIids:
      return categoriesByNumber(f);
    case pe::kCategories:
      category(f.bytes);
      break;
    case pe::kNameIid:
      return nameByNumber(f.value);
    case pe::kName:
      named_ = true;
      e.name = builder_.text(f.bytes);
      break;
    case pe::kCounterValue:
      r_.value = static_cast<double>(static_cast<int64_t>(f.value));
      break;
    case pe::kDoubleValue:
      r_.value = std::bit_cast<double>(f.value);
      break;
    case pe::kExtraTracks:
      return append(varints(), r_.extra_tracks);
    case pe::kExtraDoubleTracks:
      return append(varints(), r_.extra_double_tracks);
    case pe::kExtraValues:
      return append(varints(), r_.extra_values);
    case pe::kExtraDoubleValues:
      return extraDoubles(f);
    case pe::kFlowIds:
    case pe::kFlowIdsOld:
      return append(flowIds(f), e.flows);
    case pe::kEndingFlowIds:
    case pe::kEndingFlowIdsOld:
      return append(flowIds(f), e.ending_flows);
    case pe::kGpuCorrelation:
      return gpuCorrelation(f.bytes);
    case pe::kCallstack:
    case pe::kCallstackIid:
      r_.call_stack = f;
      break;
    case pe::kLegacy:
      legacy_ = f.bytes;
      break;
    default:
      keepUnknownField(f, "", builder_, e.kept);
  }
}

/// Asynchronous events with the same id are on one track if their scopes (if any) are equal, and
/// also their categories; for the older phases S to F, their names.
void Reading::asyncScope(std::string_view id_scope) {
  if (r_.async_id.kind == PerfettoAsyncId::kNone) return;
  const bool older = r_.phase == 'S' || r_.phase == 'T' || r_.phase == 'p' || r_.phase == 'F';
  std::string& scope = r_.async_id.scope;
  if (!id_scope.empty()) {
    scope = categories_ + ':' + std::string(id_scope);
  } else {
    scope = older ? std::string(builder_.rows.text(r_.event.name)) : categories_;
  }
}

void Reading::legacy(std::string_view bytes) {
  namespace pl = pe::legacy;
  PerfettoEvent& e = r_.event;
  std::string_view id_scope;
  int64_t duration_us = 0;
  const auto number = [&](const char* key, const Field& f) {
    e.kept.integer(key, static_cast<int64_t>(f.value));
  };
  const auto id = [&](PerfettoAsyncId::Kind kind, const char* key, const Field& f) {
    r_.async_id.kind = kind;
    r_.async_id.number = f.value;
    number(key, f);
  };
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pl::kNameIid:
        if (!named_) e.name = named(sequence_.event_names, f.value);
        break;
      case pl::kPhase:
        r_.phase = static_cast<char>(f.value);
        break;
      case pl::kDuration:
        duration_us = static_cast<int64_t>(f.value);
        break;
      case pl::kThreadDuration:
        return number("legacy_event.thread_duration_us", f);
      case pl::kInstructionsDelta:
        return number("legacy_event.thread_instruction_delta", f);
      case pl::kUnscopedId:
        return id(PerfettoAsyncId::kUnscoped, "legacy_event.unscoped_id", f);
      case pl::kLocalId:
        return id(PerfettoAsyncId::kLocal, "legacy_event.local_id", f);
      case pl::kGlobalId:
        return id(PerfettoAsyncId::kGlobal, "legacy_event.global_id", f);
      case pl::kIdScope:
        id_scope = f.bytes;
        e.kept.text("legacy_event.id_scope", builder_.text(f.bytes));
        break;
      case pl::kUseAsyncThreadTime:
        return number("legacy_event.use_async_tts", f);
      case pl::kBindId:
        r_.bind_id = f.value;
        return number("legacy_event.bind_id", f);
      case pl::kBindToEnclosing:
        return number("legacy_event.bind_to_enclosing", f);
      case pl::kFlowDirection:
        r_.flow_direction = f.value;
        return number("legacy_event.flow_direction", f);
      case pl::kInstantScope:
        r_.instant_scope = f.value;
        return number("legacy_event.instant_event_scope", f);
      case pl::kPid:
        r_.pid = static_cast<int32_t>(f.value);
        break;
      case pl::kTid:
        r_.tid = static_cast<int32_t>(f.value);
        break;
      default:
        keepUnknownField(f, "legacy_event.", builder_, e.kept);
    }
  });
  // An event with its own type keeps it, whatever the phase.
  if (r_.phase != 0 && r_.type != pe::kCounter && r_.type != pe::kState) {
    e.action = actionOfPhase(r_.phase, r_.async);
    if (std::string_view("BEXi").find(r_.phase) == std::string_view::npos) {
      e.kept.text("legacy_event.phase", builder_.text(std::string(1, r_.phase)));
    }
  }
  if (e.action == PerfettoAction::kComplete) {
    e.duration_ns = spans_.lasting(nanoseconds(static_cast<uint64_t>(duration_us)));
  }
  // A duration that the row cannot hold is kept beside it.
  if (duration_us != 0 && e.duration_ns <= 0) {
    e.kept.integer("legacy_event.duration_us", duration_us);
  }
  if (r_.async) asyncScope(id_scope);
}

void Reading::read(std::string_view bytes) {
  PerfettoEvent& e = r_.event;
  r_.track = sequence_.track;
  // Annotations come first, as a separate object.
  e.kept.column("ts", SourceGap::kTimeNanos);
  e.kept.column("name", SourceGap::kName);
  e.kept.open("args");
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pe::kAnnotations) annotation(f.bytes);
  });
  e.kept.close();
  proto::forEachField(bytes, [&](const Field& f) { field(f); });
  e.action = actionOfType(r_.type);
  if (!legacy_.empty()) legacy(legacy_);
  if (r_.thread_time_ns) e.kept.integer("thread_time_ns", *r_.thread_time_ns);
  if (r_.instructions) e.kept.integer("thread_instruction_count", *r_.instructions);
  if (!categories_.empty()) {
    e.category = builder_.text(categories_);
    e.kept.text("cat", e.category);
  }
}

}  // namespace

PerfettoRead readTrackEvent(PerfettoSequence& sequence, std::string_view bytes,
                            TraceBuilder& builder, SpansOfSource& spans) {
  PerfettoRead read;
  Reading(sequence, builder, spans, read).read(bytes);
  return read;
}

}  // namespace tracesmith::import
