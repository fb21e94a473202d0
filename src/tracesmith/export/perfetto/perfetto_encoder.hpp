// SPDX-License-Identifier: Apache-2.0
// Internals of the Perfetto exporter, included only by perfetto_*.cpp. Each group of tables has
// methods in its own file.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/export/perfetto/perfetto_clock.hpp"
#include "tracesmith/export/perfetto/perfetto_packets.hpp"
#include "tracesmith/export/perfetto/perfetto_stacks.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/export/slices/device_work.hpp"
#include "tracesmith/export/slices/event_links.hpp"
#include "tracesmith/export/slices/host_slices.hpp"
#include "tracesmith/export/slices/readable_names.hpp"
#include "tracesmith/export/slices/row_attributes.hpp"

namespace tracesmith::perfetto {

class Encoder {
 public:
  Encoder(const Trace& trace, Output& out, const PerfettoOptions& options,
          const Selection& selection, DeviceWork work);

  void run();
  PerfettoSummary summary() const;

 private:
  /// Properties of a stream that all its events share.
  struct Stream {
    ProcessId process{};
    uint32_t device = 0;         // index, used as gpu_id
    uint32_t device_number = 0;  // as shown to users
    uint32_t stream_number = 0;
    uint64_t context = 0;
    uint64_t api = 0;  // value for InternedGraphicsContext; 0: unknown
    uint64_t queue_iid = 0;
    std::string queue_name;
    std::string arch;
    std::string event_prefix;  // encoded GpuRenderStageEvent fields that are always the same
    std::string args;          // encoded launch arguments "device" and "stream"
    Sequence sequences[kWorkKinds];
  };
  /// One lane of nested host slices.
  struct Lane {
    Sequence sequence;
    std::vector<int64_t> open_ends;
  };

  // perfetto_preamble.cpp
  void writePreamble();
  void describeClocks();
  void describeDevices();
  void describeProcess(size_t row);
  void writeTrailer();
  uint64_t processUuid(ProcessId process) const;
  uint32_t pidOf(ProcessId process) const;

  // perfetto_host.cpp
  void writeHostSlices();
  void openLane(Lane& lane, const HostSlice& first, uint32_t number);
  /// Content of the start event of a slice.
  struct SliceStart {
    std::string_view label;
    uint32_t name = 0;  // interned id of the label; 0: none
    bool new_name = false;
    bool new_stack = false;
    uint64_t category = 0;
    std::string_view new_category;
    uint32_t first_work = 0;  // first work it submits
    uint64_t callstack = 0;
  };
  void begin(Sequence& q, const HostSlice& slice);
  SliceStart startOf(Sequence& q, const HostSlice& slice);
  void internStart(proto::Cursor& c, const SliceStart& start) const;
  void linkStart(proto::Cursor& c, const HostSlice& slice, uint32_t first_work,
                 std::span<const Links::HostLink> links);
  void end(Sequence& q, int64_t time_ns);
  void annotate(proto::Cursor& c, const HostSlice& slice);
  size_t annotationBound(const HostSlice& slice) const;
  std::string_view nameOf(const HostSlice& slice, StringId& id) const;
  uint64_t callstackOf(Sequence& q, const HostSlice& slice);

  // perfetto_device.cpp
  void writeDeviceWork();
  void prepareStreams();
  void prepareShapes();
  template <class Table>
  void writeWorkTable(const Table& table, WorkKind kind);
  struct WorkName {
    bool given = false;
    bool fresh = false;  // not yet interned on its sequence
    uint32_t number = 0;
    std::string_view label;  // only if fresh
    std::string_view readable;
  };
  WorkName nameOfWork(Sequence& q, WorkKind kind, StringId id);
  static void internWorkName(proto::Cursor& c, const Stream& s, WorkKind kind,
                             const WorkName& name);
  template <class Table>
  void writeWork(const Table& table, WorkKind kind, size_t row);
  void openStream(Stream& stream, WorkKind kind, int64_t first_ns);
  template <class Table>
  void writeExtras(const Table& table, size_t row);
  size_t streamIndex(StreamId stream, ProcessId process) const;

  // perfetto_compat.cpp
  struct DeviceSlice {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t row;
    WorkKind kind;
  };
  void writeDeviceSlices();
  void openStreamLane(Sequence& q, size_t stream, uint32_t lane, int64_t first_ns);
  template <class Table>
  void writeDeviceSlice(Sequence& q, const Table& table, const DeviceSlice& slice);
  void shapeOf(proto::Cursor& c, ShapeId id);
  void writeHostArrows(proto::Cursor& c, const HostSlice& slice, uint32_t first_work);

  // perfetto_sched.cpp
  struct Run;
  void writeThreadStates();
  void describeThreads();
  std::map<uint32_t, std::vector<Run>> runsByProcessor() const;
  void writeProcessor(uint32_t cpu, const std::vector<Run>& runs, int64_t to_boottime_ns);
  void writeSwitch(proto::Cursor& c, int64_t boottime_ns, const Run* before, const Run* next) const;
  void writeWakeups(int64_t to_boottime_ns);

  // perfetto_counters.cpp
  void writeCounters();
  void writeAllocatedMemory();
  void openCounter(Sequence& q, int64_t ns, uint64_t uuid, uint64_t parent, std::string_view name,
                   std::string_view unit, std::string_view description);
  void writeCounterValue(Sequence& q, int64_t ns, double value);

  std::string_view text(StringId id) const { return trace_.strings.at(id); }

  const Trace& trace_;
  const PerfettoOptions& options_;
  const Selection& selection_;
  const int64_t base_ns_;
  const TraceClock clock_;
  PacketWriter packets_;
  DeviceWork work_;
  Links links_;
  RowAttributes attributes_;
  HostTracks tracks_;
  NameNumbers names_;
  const ReadableNames readable_names_;
  CallPathTable shown_paths_;     // without frames of the interpreter, libffi and the loader
  std::optional<Stacks> stacks_;  // only if there are any to write
  uint64_t events_ = 0;
  uint64_t cut_slices_ = 0;
  uint64_t unmatched_frees_ = 0;
  bool synthetic_ = false;
  Sequence main_;                         // for descriptors and attributes
  std::vector<std::vector<Lane>> lanes_;  // by track
  std::vector<Stream> streams_;           // by StreamId, then one per process for unknown streams
  std::vector<std::string> shapes_;       // encoded launch, by ShapeId
  SeenIds described_devices_;             // devices with tracks already written
  std::vector<bool> submitted_;           // by work number: a host slice has a flow to it
  std::vector<std::pair<uint32_t, uint64_t>> arrows_from_work_;  // work number, flow id
  std::string extra_;  // encoded fields of the event being written
};

}  // namespace tracesmith::perfetto
