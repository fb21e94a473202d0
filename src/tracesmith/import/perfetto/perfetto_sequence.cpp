// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/perfetto/perfetto_sequence.hpp"

#include <bit>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/import/common/source_numbers.hpp"
#include "tracesmith/import/perfetto/perfetto_numbers.hpp"

namespace tracesmith::import {

namespace pn = perfetto_numbers;
using proto::Field;

std::vector<uint64_t> packedVarints(uint32_t wire_type, uint64_t value, std::string_view bytes) {
  if (wire_type != 2) return {value};
  std::vector<uint64_t> values;
  ByteReader in(asBytes(bytes));
  while (in.remaining() > 0) {
    const uint64_t v = in.varint();
    if (in.ok()) values.push_back(v);
  }
  return values;
}

namespace {

PerfettoSequence::Frame frameOf(std::string_view bytes) {
  namespace in = pn::interned::frame;
  PerfettoSequence::Frame frame;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == in::kFunction) frame.function = f.value;
    if (f.number == in::kMapping) frame.mapping = f.value;
    if (f.number == in::kRelativePc) frame.relative_pc = f.value;
    if (f.number == in::kFile) frame.file = f.value;
    if (f.number == in::kLine) frame.line = static_cast<uint32_t>(f.value);
    if (f.number == in::kKind) frame.kind = f.value;
  });
  return frame;
}

PerfettoSequence::Mapping mappingOf(std::string_view bytes) {
  PerfettoSequence::Mapping mapping;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::interned::mapping::kBuildId) mapping.build_id = f.value;
    if (f.number != pn::interned::mapping::kPath) return;
    for (const uint64_t part : packedVarints(f.wire_type, f.value, f.bytes)) {
      mapping.path.push_back(part);
    }
  });
  return mapping;
}

PerfettoSequence::Callstack callstackOf(std::string_view bytes) {
  PerfettoSequence::Callstack stack;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number != pn::interned::callstack::kFrames) return;
    for (const uint64_t frame : packedVarints(f.wire_type, f.value, f.bytes)) {
      stack.frames.push_back(frame);
    }
  });
  return stack;
}

/// Fields with the same numbers in all kinds of entries, mostly id and name.
struct InternedEntry {
  uint64_t iid = 0;
  uint64_t second = 0, third = 0, category = 0;
  std::string_view second_text, third_text;
};

InternedEntry readEntry(std::string_view bytes) {
  namespace in = pn::interned;
  InternedEntry entry;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == in::kIid) entry.iid = f.value;
    if (f.number == in::kName) {
      entry.second = f.value;
      entry.second_text = f.bytes;
    }
    if (f.number == 3) {
      entry.third = f.value;
      entry.third_text = f.bytes;
    }
    if (f.number == in::specification::kCategory) entry.category = f.value;
  });
  return entry;
}

}  // namespace

std::optional<std::pair<int64_t, int64_t>> threadOfEvent(const PerfettoThread& of_sequence,
                                                         bool has_no_track,
                                                         std::optional<int64_t> pid,
                                                         std::optional<int64_t> tid) {
  if (!pid && !(of_sequence.known && (has_no_track || tid))) return std::nullopt;
  return std::pair(pid.value_or(of_sequence.pid), tid ? *tid : pid ? -1 : of_sequence.tid);
}

void PerfettoSequence::clear() {
  const PerfettoThread same = thread;
  *this = PerfettoSequence{};
  thread = same;
  valid = true;
}

void PerfettoSequence::lose() {
  valid = false;
  references = {};
}

void PerfettoSequence::setThread(std::string_view bytes) {
  constexpr int64_t kMicrosecondNs = 1000;
  thread = {.known = true};
  references = {.known = true};
  const auto ns = [](uint64_t us) {
    int64_t product = 0;
    return __builtin_mul_overflow(static_cast<int64_t>(us), kMicrosecondNs, &product) ? 0 : product;
  };
  proto::forEachField(bytes, [&](const Field& f) {
    namespace pt = pn::track::thread;
    if (f.number == pn::track::kPid) thread.pid = static_cast<int32_t>(f.value);
    if (f.number == pt::kTid) thread.tid = static_cast<int64_t>(f.value);
    if (f.number == pt::kReferenceTime) references.time_ns = ns(f.value);
    if (f.number == pt::kReferenceThreadTime) references.thread_time_ns = ns(f.value);
    if (f.number == pt::kReferenceInstructions) {
      references.instructions = static_cast<int64_t>(f.value);
    }
  });
}

void PerfettoSequence::setDefaults(std::string_view bytes) {
  clock.reset();
  track = 0;
  extra_tracks.clear();
  extra_double_tracks.clear();
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == pn::defaults::kClockId) clock = static_cast<uint32_t>(f.value);
    if (f.number != pn::defaults::kTrackEvent) return;
    proto::forEachField(f.bytes, [&](const Field& g) {
      const auto append = [&](std::vector<uint64_t>& to) {
        for (uint64_t v : packedVarints(g.wire_type, g.value, g.bytes)) to.push_back(v);
      };
      if (g.number == pn::defaults::kTrackUuid) track = g.value;
      if (g.number == pn::defaults::kExtraTracks) append(extra_tracks);
      if (g.number == pn::defaults::kExtraDoubleTracks) append(extra_double_tracks);
    });
  });
}

PerfettoArgument PerfettoSequence::argument(std::string_view bytes, TraceBuilder& builder) const {
  namespace pa = pn::stage::argument;
  PerfettoArgument a;
  const auto of = [](const Names& names, uint64_t iid) {
    const auto it = names.find(iid);
    return it != names.end() ? it->second : StringId::kNone;
  };
  proto::forEachField(bytes, [&](const Field& f) {
    switch (f.number) {
      case pa::kNameIid:
        a.name = of(argument_names, f.value);
        break;
      case pa::kName:
        a.name = builder.text(f.bytes);
        break;
      case pa::kInt:
      case pa::kUint:
        a.integer = static_cast<int64_t>(f.value);
        break;
      case pa::kDouble:
        a.is_real = true;
        a.real = std::bit_cast<double>(f.value);
        break;
      case pa::kText:
        a.is_text = true;
        a.text = builder.text(f.bytes);
        break;
      case pa::kTextIid:
        a.is_text = true;
        a.text = of(texts, f.value);
        break;
      default:
        break;
    }
  });
  return a;
}

void PerfettoSequence::intern(std::string_view bytes, TraceBuilder& builder) {
  namespace in = pn::interned;
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.wire_type == 2) internEntry(f, builder);
  });
  // The names of their arguments may come later in the same packet.
  proto::forEachField(bytes, [&](const Field& f) {
    if (f.number == in::kKernels) internArguments(f.bytes, builder);
  });
}

void PerfettoSequence::internEntry(const Field& f, TraceBuilder& builder) {
  namespace in = pn::interned;
  const InternedEntry entry = readEntry(f.bytes);
  const uint64_t iid = entry.iid;
  const std::string_view name = entry.second_text;
  switch (f.number) {
    case in::kCategories:
      categories[iid] = builder.text(name);
      break;
    case in::kEventNames:
      event_names[iid] = builder.text(name);
      break;
    case in::kAnnotationNames:
      annotation_names[iid] = builder.text(name);
      break;
    case in::kTexts:
      texts[iid] = builder.text(name);
      break;
    case in::kFunctionNames:
      function_names[iid] = name;
      break;
    case in::kSourcePaths:
      source_paths[iid] = name;
      break;
    case in::kMappingPaths:
      mapping_paths[iid] = name;
      break;
    case in::kBuildIds:
      build_ids[iid] = hexOf(name);
      break;
    case in::kFrames:
      frames[iid] = frameOf(f.bytes);
      break;
    case in::kMappings:
      mappings[iid] = mappingOf(f.bytes);
      break;
    case in::kCallstacks:
      callstacks[iid] = callstackOf(f.bytes);
      break;
    case in::kArgumentNames:
      argument_names[iid] = builder.text(name);
      break;
    case in::kSpecifications:
      specifications[iid] = {builder.text(name), entry.category};
      break;
    case in::kContexts:
      contexts[iid] = {static_cast<int32_t>(entry.second), entry.third};
      break;
    case in::kCounterDescriptors:
      counter_descriptors[iid] = {static_cast<int32_t>(entry.third), std::string(name)};
      break;
    case in::kKernels:
      kernels[iid] = {builder.text(name.empty() ? entry.third_text : name), {}};
      break;
    default:
      break;
  }
}

void PerfettoSequence::internArguments(std::string_view kernel, TraceBuilder& builder) {
  namespace in = pn::interned;
  uint64_t iid = 0;
  std::vector<PerfettoArgument> arguments;
  proto::forEachField(kernel, [&](const Field& f) {
    if (f.number == in::kIid) iid = f.value;
    if (f.number == in::kernel::kArgs) arguments.push_back(argument(f.bytes, builder));
  });
  kernels[iid].arguments = std::move(arguments);
}

}  // namespace tracesmith::import
