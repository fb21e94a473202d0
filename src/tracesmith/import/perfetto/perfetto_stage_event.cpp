// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_stage_event.hpp"

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_values.hpp"

namespace tracesmith::import {
namespace {

namespace ps = perfetto_numbers::stage;

void readLaunch(std::string_view bytes, const PerfettoSequence& sequence, TraceBuilder& builder,
                PerfettoStageEvent& event) {
  proto::forEachField(bytes, [&](const proto::Field& f) {
    if (f.number == ps::launch::kArgs) {
      event.arguments.push_back(sequence.argument(f.bytes, builder));
    } else if (f.number == ps::launch::kGrid || f.number == ps::launch::kWorkgroup) {
      auto& dimensions = f.number == ps::launch::kGrid ? event.grid : event.group;
      proto::forEachField(f.bytes, [&](const proto::Field& g) {
        if (g.number >= 1 && g.number <= 3) dimensions[g.number - 1] = g.value;
      });
    }
  });
}

void readExtra(std::string_view bytes, TraceBuilder& builder, PerfettoStageEvent& event) {
  std::string key;
  StringId value{};
  proto::forEachField(bytes, [&](const proto::Field& f) {
    if (f.number == ps::kExtraName) key = f.bytes;
    if (f.number == ps::kExtraValue) value = builder.text(f.bytes);
  });
  event.extra[key] = value;
}

}  // namespace

int64_t readDuration(uint64_t said_ns, SpansOfSource& spans, KeptEvent& kept) {
  const int64_t duration_ns = spans.lasting(static_cast<int64_t>(said_ns));
  if (duration_ns == 0 && said_ns != 0) kept.integer("duration", static_cast<int64_t>(said_ns));
  return duration_ns;
}

PerfettoStageEvent readStageEvent(const PerfettoSequence& sequence, std::string_view bytes,
                                  TraceBuilder& builder, SpansOfSource& spans) {
  PerfettoStageEvent event;
  event.kept.column("ts", SourceGap::kTimeNanos);
  event.kept.column("dur", SourceGap::kDurationNanos);
  proto::forEachField(bytes, [&](const proto::Field& f) {
    switch (f.number) {
      case ps::kEventId:
        event.id = f.value;
        break;
      case ps::kDuration:
        event.duration_ns = readDuration(f.value, spans, event.kept);
        break;
      case ps::kContext:
        event.context = f.value;
        break;
      case ps::kGpuId:
        event.gpu = static_cast<int32_t>(f.value);
        break;
      case ps::kQueueId:
        event.queue_id = static_cast<uint32_t>(f.value);
        break;
      case ps::kStageId:
        event.stage_id = static_cast<uint32_t>(f.value);
        break;
      case ps::kSpecifications:
        event.specifies = true;  // already read by the first pass
        break;
      case ps::kQueueIid:
        event.queue_iid = f.value;
        break;
      case ps::kStageIid:
        event.stage_iid = f.value;
        break;
      case ps::kName:
        event.name = builder.text(f.bytes);
        break;
      case ps::kNameIid: {
        const auto it = sequence.event_names.find(f.value);
        if (it != sequence.event_names.end() && event.name == StringId::kNone) {
          event.name = it->second;
        }
        break;
      }
      case ps::kKernelIid:
        event.kernel_iid = f.value;
        break;
      case ps::kWaits:
        for (uint64_t id : packedVarints(f.wire_type, f.value, f.bytes)) event.waits.push_back(id);
        break;
      case ps::kLaunch:
        readLaunch(f.bytes, sequence, builder, event);
        break;
      case ps::kExtra:
        readExtra(f.bytes, builder, event);
        break;
      default:
        keepUnknownField(f, "", builder, event.kept);
    }
  });
  return event;
}

}  // namespace tracesmith::import
