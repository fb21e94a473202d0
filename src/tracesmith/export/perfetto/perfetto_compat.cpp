// SPDX-License-Identifier: Apache-2.0
// Writes device work as TrackEvents, for viewers without support for the GPU packets of Perfetto
// v55. It writes a track per device with one track per stream below it, and flows by flow ids.
// Views based on GPU packets (kernel tables, launch shapes, correlation) are not available then.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tracesmith/export/perfetto/perfetto_encoder.hpp"
#include "tracesmith/export/select/event_filter.hpp"

namespace tracesmith::perfetto {
namespace {

// Interned categories, by WorkKind, and annotations.
constexpr std::string_view kCompatCategories[] = {"kernel", "copy", "fill", "sync"};
constexpr uint64_t kGrid = 1;
constexpr uint64_t kBlock = 2;
constexpr uint64_t kCorrelationId = 3;
constexpr std::string_view kCompatAnnotations[] = {"grid", "block", "correlation_id"};

/// Grid and block of a shape as text. It is prepared per shape, because there are far fewer shapes
/// than launches.
std::string threeSizes(uint64_t x, uint64_t y, uint64_t z) {
  return fmt::format("{} x {} x {}", x, std::max<uint64_t>(y, 1), std::max<uint64_t>(z, 1));
}

template <size_t N>
void intern(proto::Cursor& c, const std::string_view (&names)[N], bool categories) {
  uint64_t iid = 1;
  const auto entry = [&](std::string_view name) {
    c.uint<interned::kIid>(iid++);
    c.text<interned::kName>(name);
  };
  for (const std::string_view name : names) {
    if (categories) {
      c.message<interned::kEventCategories>([&] { entry(name); });
    } else {
      c.message<interned::kAnnotationNames>([&] { entry(name); });
    }
  }
}

}  // namespace

void Encoder::writeDeviceSlices() {
  prepareStreams();
  std::vector<std::vector<DeviceSlice>> streams(streams_.size());
  forEachWorkTable(trace_, [&](const auto& table, WorkKind kind) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (!isWorkSelected(table, i, selection_)) continue;
      streams[streamIndex(table.stream_id[i], table.process_id[i])].push_back(
          {table.start_ns[i], endOf(table.start_ns[i], table.duration_ns[i]),
           static_cast<uint32_t>(i), kind});
      for (const uint32_t from : links_.waits(work_.number(kind, i))) {
        const uint64_t arrow = packets_.uuid(TrackKind::kWait, from, work_.number(kind, i));
        arrows_from_work_.emplace_back(from, arrow);
      }
    }
  });
  std::sort(arrows_from_work_.begin(), arrows_from_work_.end());
  for (size_t s = 0; s < streams.size() && !packets_.output().failed(); ++s) {
    std::stable_sort(
        streams[s].begin(), streams[s].end(),
        [](const DeviceSlice& a, const DeviceSlice& b) { return a.start_ns < b.start_ns; });
    std::vector<Sequence> lanes;
    std::multimap<int64_t, size_t> free_at;  // end of a lane's last work, lane number
    for (const DeviceSlice& slice : streams[s]) {
      const auto first = free_at.begin();
      size_t lane = lanes.size();
      if (first != free_at.end() && first->first <= slice.start_ns) {
        lane = first->second;
        free_at.erase(first);
      } else {
        openStreamLane(lanes.emplace_back(), s, static_cast<uint32_t>(lane), slice.start_ns);
      }
      Sequence& q = lanes[lane];
      switch (slice.kind) {
        case WorkKind::kKernel:
          writeDeviceSlice(q, trace_.kernel, slice);
          break;
        case WorkKind::kCopy:
          writeDeviceSlice(q, trace_.copy, slice);
          break;
        case WorkKind::kFill:
          writeDeviceSlice(q, trace_.fill, slice);
          break;
        case WorkKind::kSync:
          writeDeviceSlice(q, trace_.sync, slice);
          break;
      }
      free_at.emplace(slice.end_ns, lane);
    }
  }
}

void Encoder::openStreamLane(Sequence& q, size_t stream, uint32_t lane, int64_t first_ns) {
  const Stream& s = streams_[stream];
  const uint64_t device = packets_.uuid(TrackKind::kDevice, s.device);
  const uint64_t uuid = packets_.uuid(TrackKind::kStream, stream, lane);
  packets_.open(q, first_ns, uuid, 512, [&](proto::Cursor& c) {
    c.message<packet::kInternedData>([&] {
      intern(c, kCompatCategories, true);
      intern(c, kCompatAnnotations, false);
    });
  });
  std::string device_name = "Device";
  if (s.device < trace_.device.size()) {
    const std::string_view name = text(trace_.device.name[s.device]);
    device_name = fmt::format("{} {}{}{}", deviceWord(trace_.device.kind[s.device]),
                              trace_.device.ordinal[s.device], name.empty() ? "" : ": ", name);
  }
  const auto describe = [&](uint64_t id, uint64_t parent, const std::string& name) {
    packets_.untimed(q, 96 + proto::textBound(name.size()), [&](proto::Cursor& c) {
      c.message<packet::kTrackDescriptor>([&] {
        c.uint<track::kUuid>(id);
        if (parent != 0) c.uint<track::kParentUuid>(parent);
        c.text<track::kName>(name);
      });
    });
  };
  if (described_devices_.insert(s.device)) describe(device, 0, device_name);
  if (lane == 0) {
    describe(uuid, device, s.queue_name);
  } else {
    describe(uuid, packets_.uuid(TrackKind::kStream, stream, 0), s.queue_name + " (overlapping)");
  }
}

template <class Table>
void Encoder::writeDeviceSlice(Sequence& q, const Table& table, const DeviceSlice& slice) {
  const size_t row = slice.row;
  const auto number = static_cast<uint32_t>(work_.number(slice.kind, row));
  const StringId id = table.name[row];
  const uint32_t name = id == StringId::kNone ? 0 : names_.of(id);
  const bool fresh = name != 0 && q.names.insert(name);
  std::string label;
  if (fresh) {
    label = readable_names_.of(id);
  } else if (name == 0) {
    label = eventName(trace_, Table::kId, row);
    if (label.empty()) label = "unnamed kernel";
  }
  const auto waits = links_.waits(number);
  const auto out = std::equal_range(arrows_from_work_.begin(), arrows_from_work_.end(),
                                    std::pair<uint32_t, uint64_t>(number, 0),
                                    [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto arrows = static_cast<size_t>(out.second - out.first) + waits.size() + 1;
  packets_.timed(
      q, slice.start_ns, 384 + proto::textBound(label.size()) + arrows * 16, [&](proto::Cursor& c) {
        if (fresh) {
          c.message<packet::kInternedData>([&] {
            c.message<interned::kEventNames>([&] {
              c.uint<interned::kIid>(name);
              c.text<interned::kName>(label);
            });
          });
        }
        c.message<packet::kTrackEvent>([&] {
          c.uint<event::kType>(event::kSliceBegin);
          c.uint<event::kCategoryIids>(static_cast<uint64_t>(slice.kind) + 1);
          if (name != 0) {
            c.uint<event::kNameIid>(name);
          } else {
            c.text<event::kName>(label);
          }
          if constexpr (Table::kId == TableId::kKernel) shapeOf(c, table.shape_id[row]);
          if (options_.full_args) {
            c.message<event::kDebugAnnotations>([&] {
              c.uint<event::annotation::kNameIid>(kCorrelationId);
              c.uint<event::annotation::kUint>(table.correlation_id[row]);
            });
          }
          for (auto it = out.first; it != out.second; ++it) c.fixed64<event::kFlowIds>(it->second);
          if (number < submitted_.size() && submitted_[number]) {
            c.fixed64<event::kTerminatingFlowIds>(packets_.uuid(TrackKind::kSubmission, number));
          }
          for (const uint32_t from : waits) {
            c.fixed64<event::kTerminatingFlowIds>(packets_.uuid(TrackKind::kWait, from, number));
          }
        });
      });
  packets_.timed(q, slice.end_ns, 32, [&](proto::Cursor& c) {
    c.message<packet::kTrackEvent>([&] { c.uint<event::kType>(event::kSliceEnd); });
  });
  if (table.flags[row] & op_flags::kSynthetic) synthetic_ = true;
  ++events_;
}

void Encoder::shapeOf(proto::Cursor& c, ShapeId id) {
  const auto i = static_cast<size_t>(id);
  if (i == 0 || i > trace_.launch_shape.size()) return;
  const LaunchShapeRow r = trace_.launch_shape.row(i - 1);
  const auto say = [&](uint64_t name, const std::string& sizes) {
    c.message<event::kDebugAnnotations>([&] {
      c.uint<event::annotation::kNameIid>(name);
      c.text<event::annotation::kString>(sizes);
    });
  };
  if (r.local_x == 0) return;  // chosen by the driver
  const auto groups = [](uint64_t global, uint64_t local) {
    return local == 0 ? 1 : global / local + (global % local != 0 ? 1 : 0);
  };
  say(kGrid, threeSizes(groups(r.global_x, r.local_x), groups(r.global_y, r.local_y),
                        groups(r.global_z, r.local_z)));
  say(kBlock, threeSizes(r.local_x, r.local_y, r.local_z));
}

/// Writes flows of a host slice, in place of the GPU correlation that newer viewers use.
void Encoder::writeHostArrows(proto::Cursor& c, const HostSlice& slice, uint32_t first_work) {
  const auto submit = [&](uint64_t number) {
    c.fixed64<event::kFlowIds>(packets_.uuid(TrackKind::kSubmission, number));
    if (number < submitted_.size()) submitted_[number] = true;
  };
  for (uint32_t w = first_work; w != 0; w = work_.next(w)) submit(w);
  for (const Links::HostLink& link : links_.ofSlice(slice.source, slice.row)) {
    if (link.what == Links::LinkKind::kSubmits) {
      submit(link.value);
    } else if (link.what == Links::LinkKind::kWaitedFor) {
      const uint64_t arrow =
          packets_.uuid(TrackKind::kWaited, link.value,
                        uint64_t{slice.row} << 8 | static_cast<uint64_t>(slice.source));
      arrows_from_work_.emplace_back(static_cast<uint32_t>(link.value), arrow);
      c.fixed64<event::kTerminatingFlowIds>(arrow);
    }
  }
}

}  // namespace tracesmith::perfetto
