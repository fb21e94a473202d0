// SPDX-License-Identifier: Apache-2.0
// Writes host slices as TrackEvents. A call that caused device work lists the event ids of that
// work; viewers use them to draw the arrow from launch to kernel.
#include <fmt/format.h>

#include "tracesmith/export/perfetto/perfetto_encoder.hpp"

namespace tracesmith::perfetto {
namespace {

// Interned category ids: first the kinds of calls (kind + 1), then those of other slices, then the
// categories of ranges (kFirstRangeCategory + number of their name).
constexpr std::string_view kCategories[] = {"api",    "launch", "copy",  "fill", "sync",
                                            "memory", "build",  "setup", "range"};
constexpr uint64_t kBuildCategory = 7;
constexpr uint64_t kSyncCategory = 5;
constexpr uint64_t kRangeCategory = 9;
constexpr uint64_t kFirstRangeCategory = 16;

uint64_t categoryOf(CallKind kind) {
  const auto k = static_cast<uint64_t>(kind);
  return k <= static_cast<uint64_t>(CallKind::kSetup) ? k + 1 : 1;
}

enum Annotation : uint64_t {
  kResult = 1,
  kSubject,
  kProgram,
  kOptions,
  kLogBytes,
  kAsynchronous,
  kUnfinished,
  kStrayEnd,
  kFullDuration,
  kCorrelation,
  kStream,
  kGlobalSize,
};
constexpr std::string_view kAnnotations[] = {
    "result",     "subject",   "program",          "options",        "log_bytes", "asynchronous",
    "unfinished", "stray_end", "full_duration_ns", "correlation_id", "stream_id", "global_size"};

void number(proto::Cursor& c, Annotation name, int64_t value) {
  c.message<event::kDebugAnnotations>([&] {
    c.uint<event::annotation::kNameIid>(name);
    c.sint<event::annotation::kInt>(value);
  });
}
void words(proto::Cursor& c, Annotation name, std::string_view value) {
  c.message<event::kDebugAnnotations>([&] {
    c.uint<event::annotation::kNameIid>(name);
    c.text<event::annotation::kString>(value);
  });
}

std::string_view buildName(BuildKind kind) {
  switch (kind) {
    case BuildKind::kCompile:
      return "compile program";
    case BuildKind::kLink:
      return "link program";
    default:
      return "build program";
  }
}

constexpr uint32_t kNoTable = 0;
uint32_t tableOf(SliceSource source) {
  switch (source) {
    case SliceSource::kHostCall:
      return static_cast<uint32_t>(TableId::kHostCall);
    case SliceSource::kBuild:
      return static_cast<uint32_t>(TableId::kProgramBuild);
    case SliceSource::kSync:
      return static_cast<uint32_t>(TableId::kSync);
    case SliceSource::kRange:
    case SliceSource::kInstant:
      return static_cast<uint32_t>(TableId::kRange);
  }
  return kNoTable;
}

}  // namespace

/// The slice's name. Sets `id` to kNone if it is not a string of the trace.
std::string_view Encoder::nameOf(const HostSlice& slice, StringId& id) const {
  id = StringId::kNone;
  switch (slice.source) {
    case SliceSource::kHostCall:
      id = callName(trace_.host_call, slice.row);
      break;
    case SliceSource::kBuild:
      return buildName(trace_.program_build.kind[slice.row]);
    case SliceSource::kSync:
      id = trace_.sync.name[slice.row];
      if (id == StringId::kNone) return toString(trace_.sync.kind[slice.row]);
      break;
    case SliceSource::kRange:
    case SliceSource::kInstant:
      id = trace_.range.name[slice.row];
      break;
  }
  return id == StringId::kNone ? "(no name)" : text(id);
}

void Encoder::openLane(Lane& lane, const HostSlice& first, uint32_t number) {
  const uint32_t track = first.track;
  const ProcessId process = tracks_.process(trace_, track);
  const ThreadId thread = tracks_.thread(track);
  const StreamId stream = tracks_.stream(track);
  const uint32_t pid = pidOf(process);
  const uint32_t tid = thread == ThreadId::kNone ? 0 : trace_.thread.tid[indexOf(thread)];
  std::string name;
  if (thread != ThreadId::kNone) {
    name = text(trace_.thread.name[indexOf(thread)]);
  } else if (stream != StreamId::kNone) {
    name = fmt::format("Ranges of stream #{}", trace_.stream.ordinal[indexOf(stream)]);
  } else {
    name = "Calls of unknown threads";
  }
  const TrackKind kind = stream != StreamId::kNone ? TrackKind::kStreamRanges : TrackKind::kThread;
  const uint64_t uuid = packets_.uuid(kind, track, number);
  packets_.open(lane.sequence, first.start_ns, uuid, 512, [&](proto::Cursor& c) {
    c.message<packet::kInternedData>([&] {
      uint64_t iid = 1;
      for (std::string_view category : kCategories) {
        c.message<interned::kEventCategories>([&] {
          c.uint<interned::kIid>(iid++);
          c.text<interned::kName>(category);
        });
      }
      iid = 1;
      for (std::string_view annotation : kAnnotations) {
        c.message<interned::kAnnotationNames>([&] {
          c.uint<interned::kIid>(iid++);
          c.text<interned::kName>(annotation);
        });
      }
    });
  });
  packets_.untimed(lane.sequence, 128 + name.size(), [&](proto::Cursor& c) {
    c.message<packet::kTrackDescriptor>([&] {
      c.uint<track::kUuid>(uuid);
      if (number == 0 && pid != 0 && tid != 0) {
        c.message<track::kThread>([&] {
          c.uint<track::thread::kPid>(pid);
          c.uint<track::thread::kTid>(tid);
          if (!name.empty()) c.text<track::thread::kName>(name);
        });
        return;
      }
      const uint64_t parent = number == 0 ? processUuid(process) : packets_.uuid(kind, track, 0);
      if (parent != 0) c.uint<track::kParentUuid>(parent);
      if (name.empty()) name = fmt::format("Thread {}", tid);
      if (number != 0) name += " (overlapping)";
      c.text<track::kName>(name);
    });
  });
}

size_t Encoder::annotationBound(const HostSlice& slice) const {
  size_t bound = 128;
  if (slice.source == SliceSource::kHostCall) {
    const StringId subject = trace_.host_call.subject[slice.row];
    if (subject != StringId::kNone) bound += proto::textBound(text(subject).size());
  } else if (slice.source == SliceSource::kBuild) {
    bound += proto::textBound(text(trace_.program_build.options[slice.row]).size()) + 64;
  } else if (slice.source != SliceSource::kSync) {
    bound += proto::textBound(text(trace_.range.category[slice.row]).size());
  }
  if (options_.full_args) {
    bound += 192;
    for (uint32_t a : attributes_.of(TableId(tableOf(slice.source)), slice.row)) {
      bound += proto::textBound(attributes_.label(trace_, a).size()) +
               proto::textBound(text(attributes_.value(a)).size());
    }
  }
  return bound;
}

void Encoder::annotate(proto::Cursor& c, const HostSlice& slice) {
  if (slice.source == SliceSource::kHostCall) {
    const HostCallTable& t = trace_.host_call;
    if (t.result[slice.row] != 0) number(c, kResult, t.result[slice.row]);
    if (t.subject[slice.row] != StringId::kNone) words(c, kSubject, text(t.subject[slice.row]));
    if (t.flags[slice.row] & op_flags::kSynthetic) synthetic_ = true;
    if (options_.full_args) {
      number(c, kCorrelation, static_cast<int64_t>(t.correlation_id[slice.row]));
      if (t.stream_id[slice.row] != StreamId::kNone) {
        number(c, kStream, static_cast<int64_t>(t.stream_id[slice.row]));
      }
      const auto shape = static_cast<size_t>(t.shape_id[slice.row]);
      if (shape != 0 && shape <= trace_.launch_shape.size()) {
        const LaunchShapeRow r = trace_.launch_shape.row(shape - 1);
        words(c, kGlobalSize, fmt::format("{} x {} x {}", r.global_x, r.global_y, r.global_z));
      }
    }
  } else if (slice.source == SliceSource::kBuild) {
    const ProgramBuildTable& t = trace_.program_build;
    words(c, kProgram, fmt::format("{:#x}", t.program[slice.row]));
    const std::string_view options = text(t.options[slice.row]);
    if (!options.empty()) words(c, kOptions, options);
    number(c, kLogBytes, static_cast<int64_t>(t.log_bytes[slice.row]));
    if (t.result[slice.row] != 0) number(c, kResult, t.result[slice.row]);
    if (t.flags[slice.row] & 1) number(c, kAsynchronous, 1);
  } else if (slice.source == SliceSource::kSync) {
    if (options_.full_args) {
      number(c, kCorrelation, static_cast<int64_t>(trace_.sync.correlation_id[slice.row]));
    }
  } else {
    if (slice.unfinished) number(c, kUnfinished, 1);
    if (slice.stray_end) number(c, kStrayEnd, 1);
    if (options_.full_args && trace_.range.correlation_id[slice.row] != 0) {
      number(c, kCorrelation, static_cast<int64_t>(trace_.range.correlation_id[slice.row]));
    }
  }
  if (!options_.full_args) return;
  for (uint32_t a : attributes_.of(TableId(tableOf(slice.source)), slice.row)) {
    const std::string_view key = attributes_.label(trace_, a);
    if (key.empty()) continue;
    c.message<event::kDebugAnnotations>([&] {
      c.text<event::annotation::kName>(key);
      c.text<event::annotation::kString>(text(attributes_.value(a)));
    });
  }
}

/// The number of the slice's callstack; 0: none. Puts interned data that `q` lacks into extra_.
uint64_t Encoder::callstackOf(Sequence& q, const HostSlice& slice) {
  extra_.clear();
  const CallPathId path = callPathOf(trace_, slice);
  const uint64_t number = stacks_->number(path);
  if (number == 0) return 0;
  if (q.stacks == nullptr) q.stacks = std::make_unique<SeenStacks>();
  stacks_->introduce(path, *q.stacks, extra_);
  return number;
}

/// This and the next parts of begin() are inlined, because begin() runs for every host slice.
[[gnu::always_inline]] inline Encoder::SliceStart Encoder::startOf(Sequence& q,
                                                                   const HostSlice& slice) {
  SliceStart start;
  StringId id;
  start.label = nameOf(slice, id);
  start.name = id == StringId::kNone ? 0 : names_.of(id);
  start.new_name = start.name != 0 && q.names.insert(start.name);
  start.category = kRangeCategory;
  if (slice.source == SliceSource::kHostCall) {
    const HostCallTable& t = trace_.host_call;
    start.category = categoryOf(t.kind[slice.row]);
    start.first_work = work_.first(t.process_id[slice.row], t.correlation_id[slice.row]);
  } else if (slice.source == SliceSource::kBuild) {
    start.category = kBuildCategory;
  } else if (slice.source == SliceSource::kSync) {
    start.category = kSyncCategory;
  } else if (const StringId given = trace_.range.category[slice.row]; given != StringId::kNone) {
    const uint32_t n = names_.of(given);
    start.category = kFirstRangeCategory + n;
    if (q.categories.insert(n)) start.new_category = text(given);
  }
  start.callstack = stacks_ ? callstackOf(q, slice) : 0;
  start.new_stack = start.callstack != 0 && !extra_.empty();
  return start;
}

/// Writes interned data that is new on the sequence; that of a new stack is in extra_.
void Encoder::internStart(proto::Cursor& c, const SliceStart& start) const {
  c.message<packet::kInternedData>([&] {
    if (start.new_name) {
      c.message<interned::kEventNames>([&] {
        c.uint<interned::kIid>(start.name);
        c.text<interned::kName>(start.label);
      });
    }
    if (!start.new_category.empty()) {
      c.message<interned::kEventCategories>([&] {
        c.uint<interned::kIid>(start.category);
        c.text<interned::kName>(start.new_category);
      });
    }
    if (start.new_stack) c.raw(extra_);
  });
}

/// Writes flows to other slices, and the device work that the slice submits or waited for.
[[gnu::always_inline]] inline void Encoder::linkStart(proto::Cursor& c, const HostSlice& slice,
                                                      uint32_t first_work,
                                                      std::span<const Links::HostLink> links) {
  bool correlated = first_work != 0;
  for (const Links::HostLink& link : links) {
    const uint64_t arrow = packets_.uuid(TrackKind::kFlow, link.value);
    if (link.what == Links::LinkKind::kArrowOut) c.fixed64<event::kFlowIds>(arrow);
    if (link.what == Links::LinkKind::kArrowIn) c.fixed64<event::kTerminatingFlowIds>(arrow);
    correlated |= link.what >= Links::LinkKind::kSubmits;
  }
  if (!correlated) return;
  if (options_.compat) {
    writeHostArrows(c, slice, first_work);
    return;
  }
  c.message<event::kGpuCorrelation>([&] {
    for (uint32_t w = first_work; w != 0; w = work_.next(w)) {
      c.uint<event::gpu_correlation::kSubmitted>(w);
    }
    for (const Links::HostLink& link : links) {
      if (link.what == Links::LinkKind::kSubmits) {
        c.uint<event::gpu_correlation::kSubmitted>(link.value);
      } else if (link.what == Links::LinkKind::kWaitedFor) {
        c.uint<event::gpu_correlation::kWaitedFor>(link.value);
      }
    }
  });
}

void Encoder::begin(Sequence& q, const HostSlice& slice) {
  const SliceStart start = startOf(q, slice);
  const auto links = links_.ofSlice(slice.source, slice.row);
  size_t works = 0;
  for (uint32_t w = start.first_work; w != 0; w = work_.next(w)) ++works;
  const size_t bound =
      96 + annotationBound(slice) + works * 16 + links.size() * 16 +
      (start.new_name || start.name == 0 ? proto::textBound(start.label.size()) : 0) +
      proto::textBound(start.new_category.size()) + (start.new_stack ? extra_.size() + 8 : 0);

  packets_.timed(q, slice.start_ns, bound, [&](proto::Cursor& c) {
    if (start.new_name || !start.new_category.empty() || start.new_stack) internStart(c, start);
    c.message<packet::kTrackEvent>([&] {
      c.uint<event::kType>(slice.source == SliceSource::kInstant ? event::kInstant
                                                                 : event::kSliceBegin);
      c.uint<event::kCategoryIids>(start.category);
      if (start.name != 0) {
        c.uint<event::kNameIid>(start.name);
      } else {
        c.text<event::kName>(start.label);
      }
      if (start.callstack != 0) c.uint<event::kCallstackIid>(start.callstack);
      annotate(c, slice);
      if (slice.cut) number(c, kFullDuration, slice.true_end_ns - slice.start_ns);
      linkStart(c, slice, start.first_work, links);
    });
  });
  ++events_;
}

void Encoder::end(Sequence& q, int64_t time_ns) {
  packets_.timed(q, time_ns, 32, [&](proto::Cursor& c) {
    c.message<packet::kTrackEvent>([&] { c.uint<event::kType>(event::kSliceEnd); });
  });
}

void Encoder::writeHostSlices() {
  lanes_.resize(tracks_.size());
  const HostSlices slices(trace_, selection_, tracks_);
  const auto laneOf = [&](const HostSlice& slice, uint32_t number) -> Lane& {
    std::vector<Lane>& lanes = lanes_[slice.track];
    // The track of a higher lane is a child of lane 0's, which earlier slices have opened.
    if (number >= lanes.size()) lanes.resize(number + 1);
    Lane& lane = lanes[number];
    if (lane.sequence.id == 0) openLane(lane, slice, number);
    return lane;
  };
  slices.forEach(
      [&](const HostSlice& slice) {
        Lane& lane = laneOf(slice, 0);
        begin(lane.sequence, slice);
        end(lane.sequence, slice.end_ns);
      },
      [&](const HostSlice& slice, uint32_t number) {
        Lane& lane = laneOf(slice, number);
        std::vector<int64_t>& open = lane.open_ends;
        while (!open.empty() && open.back() <= slice.start_ns) {
          end(lane.sequence, open.back());
          open.pop_back();
        }
        if (slice.cut) ++cut_slices_;
        begin(lane.sequence, slice);
        if (slice.source != SliceSource::kInstant) open.push_back(slice.end_ns);
      });
  for (std::vector<Lane>& lanes : lanes_) {
    for (Lane& lane : lanes) {
      for (; !lane.open_ends.empty(); lane.open_ends.pop_back()) {
        end(lane.sequence, lane.open_ends.back());
      }
    }
  }
}

}  // namespace tracesmith::perfetto
