// SPDX-License-Identifier: Apache-2.0
// Creates a synthetic trace with all kinds of rows, for tests and benchmarks of the exporters. The
// same options give the same trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::sample {

struct Options {
  size_t kernels = 1000;
  uint32_t processes = 2;
  uint32_t devices = 2;
  uint32_t streams = 8;  ///< total, distributed over processes and devices
  uint32_t names = 300;  ///< distinct kernel names of about 140 characters, as in frameworks
  uint32_t shapes_per_name = 4;
  bool hostile_names = true;  ///< quotes, backslashes, control characters, broken UTF-8
  bool extras = true;         ///< copies, fills, syncs, flows, builds, memory, counters, ranges
  uint64_t seed = 88172645463325252ull;
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_;
};

inline std::vector<std::string> hostileNames() {
  return {
      std::string("quote\" back\\slash"),
      std::string("tab\there\nnew line\r"),
      std::string("bell\x07 escape\x1b[31m nul\0 end", 26),
      std::string("broken utf-8 \xff\xfe \xc3( \xed\xa0\x80 \xf0\x9f\x98"),
      std::string("für Müller, 数学 and \xf0\x9f\x98\x80"),
      std::string("</script><b>&amp;'`${x}"),
      std::string(300, 'x'),
      std::string("comma, semicolon; =SUM(A1)"),
  };
}

inline std::string kernelName(uint32_t i) {
  return "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
         "namespace)::op_" +
         std::to_string(i) +
         "<float, c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::Loader, float)";
}

inline Trace makeTrace(const Options& o = {}) {
  Trace t;
  Random random(o.seed);
  const auto text = [&](std::string_view s) { return t.strings.intern(s); };

  t.setMetadata("application", "sample \"quoted\"");
  for (uint32_t p = 0; p < o.processes; ++p) {
    ProcessRow process;
    process.id = idAt<ProcessId>(p);
    process.pid = 4000 + p;
    process.parent_pid = p == 0 ? 1 : 4000;
    process.boot_id = text("0f1e2d3c-0000-4000-8000-000000000001");
    process.start_ticks = 1000 + p;
    process.start_ns = 900'000'000;
    process.command_line = text("./train --name \"a b\" --rank " + std::to_string(p));
    process.executable = text("/opt/app/train");
    process.flags = process_flags::kAgent;
    t.process.push(process);
    t.thread.push({idAt<ThreadId>(p), process.id, 4000 + p, text("main")});
    t.context.push({idAt<ContextId>(p), process.id, 0x1000 + p, 0, DeviceId(1), 950'000'000, 0});
  }
  for (uint32_t d = 0; d < o.devices; ++d) {
    DeviceRow device;
    device.id = idAt<DeviceId>(d);
    device.backend = PlatformType::OpenCL;
    device.ordinal = d;
    device.name = text("Sample device " + std::to_string(d));
    device.vendor = text("TraceSmith");
    device.driver_version = text("1.0");
    device.uuid = text("GPU-00112233-4455-6677-8899-aabbccddee0" + std::to_string(d % 10));
    device.kind = DeviceKind::kGpu;
    device.memory_bytes = 8ull << 30;
    device.compute_units = 16;
    t.device.push(device);
  }
  for (uint32_t s = 0; s < o.streams; ++s) {
    StreamRow stream;
    stream.id = idAt<StreamId>(s);
    stream.process_id = idAt<ProcessId>(s % o.processes);
    stream.context_id = idAt<ContextId>(s % o.processes);
    stream.device_id = idAt<DeviceId>(s / o.processes % o.devices);
    stream.handle = 0x2000 + s;
    stream.ordinal = s / o.processes;
    t.stream.push(stream);
  }

  std::vector<StringId> names;
  const std::vector<std::string> hostile = hostileNames();
  for (uint32_t n = 0; n < o.names; ++n) {
    names.push_back(text(o.hostile_names && n < hostile.size() ? hostile[n] : kernelName(n)));
    for (uint32_t k = 0; k < o.shapes_per_name; ++k) {
      LaunchShapeRow shape;
      shape.dimensions = 1;
      shape.local_x = 128u << (n % 3);
      shape.global_x = uint64_t{shape.local_x} * (64 + n * 8 + k);
      shape.global_y = shape.global_z = 1;
      shape.local_y = shape.local_z = 1;
      t.launch_shape.push(shape);
    }
  }
  const StringId launch = text("clEnqueueNDRangeKernel");
  const StringId write = text("clEnqueueWriteBuffer");
  const StringId fill = text("clEnqueueFillBuffer");
  const StringId marker = text("clEnqueueMarkerWithWaitList");
  const StringId finish = text("clFinish");

  std::vector<int64_t> free_at(o.streams, 0);
  std::vector<uint64_t> correlation(o.processes, 0);
  std::vector<int64_t> now(o.processes, 1'000'000'000);
  const auto host = [&](uint32_t p, uint32_t s, StringId name, CallKind kind, int64_t duration) {
    HostCallRow call;
    call.start_ns = now[p];
    call.duration_ns = duration;
    call.name = name;
    call.process_id = idAt<ProcessId>(p);
    call.thread_id = idAt<ThreadId>(p);
    call.stream_id = idAt<StreamId>(s);
    call.correlation_id = ++correlation[p];
    call.kind = kind;
    t.host_call.push(call);
    return call;
  };
  const auto device = [&](auto row, const HostCallRow& call, uint32_t s, int64_t duration) {
    row.start_ns =
        std::max(free_at[s], call.start_ns + 4000) + static_cast<int64_t>(random.below(700));
    row.duration_ns = duration;
    row.process_id = call.process_id;
    row.thread_id = call.thread_id;
    row.stream_id = call.stream_id;
    row.correlation_id = call.correlation_id;
    row.flags = op_flags::kQueueTimes;
    row.queued_before_ns = row.start_ns - call.start_ns;
    row.submitted_before_ns = row.queued_before_ns / 2;
    free_at[s] = row.start_ns + duration;
    return row;
  };

  for (size_t i = 0; i < o.kernels; ++i) {
    const auto s = static_cast<uint32_t>(random.below(o.streams));
    const uint32_t p = s % o.processes;
    now[p] += 3000 + static_cast<int64_t>(random.below(4000));
    const HostCallRow call =
        host(p, s, launch, CallKind::kLaunch, 1500 + static_cast<int64_t>(random.below(1500)));
    const auto n = static_cast<uint32_t>(random.below(o.names));
    KernelRow kernel =
        device(KernelRow{}, call, s, 1200 + static_cast<int64_t>(random.below(30000)));
    kernel.name = names[n];
    kernel.shape_id = idAt<ShapeId>(n * o.shapes_per_name + random.below(o.shapes_per_name));
    if (o.extras && i < o.names) kernel.flags |= op_flags::kFirstLaunch;
    t.kernel.push(kernel);
    if (!o.extras) continue;

    if (i % 8 == 3) {
      now[p] += 3500;
      CopyRow copy = device(CopyRow{}, host(p, s, write, CallKind::kCopy, 900), s, 5000);
      copy.kind = i % 16 == 3 ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost;
      copy.bytes = 4096 + i;
      t.copy.push(copy);
      FlowRow flow;
      flow.process_id = copy.process_id;
      flow.from_correlation_id = call.correlation_id;
      flow.to_correlation_id = copy.correlation_id;
      flow.kind = FlowKind::kWait;
      t.flow.push(flow);
    }
    if (i % 16 == 5) {
      now[p] += 3500;
      FillRow row = device(FillRow{}, host(p, s, fill, CallKind::kFill, 800), s, 2000);
      row.bytes = 1024;
      t.fill.push(row);
      now[p] += 3500;
      SyncRow sync = device(SyncRow{}, host(p, s, marker, CallKind::kSync, 700), s, 0);
      sync.kind = SyncKind::kMarker;
      t.sync.push(sync);
    }
    if (i % 64 == 40) {
      now[p] += 3500;
      const HostCallRow call_of_wait = host(p, s, finish, CallKind::kSync, 2500);
      SyncRow wait;
      wait.start_ns = call_of_wait.start_ns;
      wait.duration_ns = call_of_wait.duration_ns;
      wait.kind = SyncKind::kStreamWait;
      wait.process_id = call_of_wait.process_id;
      wait.thread_id = call_of_wait.thread_id;
      wait.stream_id = call_of_wait.stream_id;
      wait.correlation_id = call_of_wait.correlation_id;
      wait.flags = op_flags::kHostSide;
      t.sync.push(wait);
    }
  }
  if (!o.extras) return t;

  for (uint32_t p = 0; p < o.processes; ++p) {
    const ProcessId process = idAt<ProcessId>(p);
    const ThreadId thread = idAt<ThreadId>(p);
    HostCallRow build;
    build.start_ns = 990'000'000;
    build.duration_ns = 5'000'000;
    build.name = text("clBuildProgram");
    build.process_id = process;
    build.thread_id = thread;
    build.correlation_id = ++correlation[p];
    build.kind = CallKind::kBuild;
    build.result = p == 0 ? 0 : -11;
    t.host_call.push(build);  // not in time order, as if another agent had written it later
    ProgramBuildRow program;
    program.start_ns = build.start_ns;
    program.duration_ns = build.duration_ns;
    program.kind = BuildKind::kBuild;
    program.process_id = process;
    program.thread_id = thread;
    program.context_id = idAt<ContextId>(p);
    program.correlation_id = build.correlation_id;
    program.program = 0xabc0 + p;
    program.log_bytes = 17;
    program.options = text("-D NAME=\"x\\y\"");
    t.program_build.push(program);

    for (uint32_t k = 0; k < 4; ++k) {
      MemoryEventRow memory;
      memory.time_ns = 995'000'000 + k * 1000;
      memory.kind = k == 3 ? MemoryKind::kFree : MemoryKind::kAlloc;
      memory.process_id = process;
      memory.thread_id = thread;
      memory.context_id = idAt<ContextId>(p);
      memory.address = k == 3 ? 0x9000 : 0x9000 + k;
      memory.bytes = k == 3 ? 0 : 1024u << k;
      t.memory_event.push(memory);
    }
    RangeRow range;
    range.start_ns = 985'000'000;
    range.duration_ns = 200'000'000;
    range.name = text(hostile[p % hostile.size()]);
    range.category = text("epoch");
    range.process_id = process;
    range.thread_id = thread;
    t.range.push(range);
    range.kind = RangeKind::kInstant;
    range.start_ns = 986'000'000;
    range.duration_ns = 0;
    t.range.push(range);
  }
  t.counter_track.push({text("temperature \"core\""), text("C"), ProcessId::kNone, DeviceId(1)});
  t.counter_track.push({text("queue depth"), text("count"), ProcessId(1), DeviceId::kNone});
  for (int k = 0; k < 20; ++k) {
    t.counter.push({1'000'000'000 + k * 50'000, CounterTrackId(1), 40.5 + k});
    t.counter.push({1'000'000'000 + k * 50'000, CounterTrackId(2), static_cast<double>(k % 5)});
  }
  t.loss.push({LossId(1), text("OpenCL calls"), ProcessId(1), t.host_call.size() + 7,
               t.host_call.size(), 7, 0, text("ring full")});
  return t;
}

/// Gives most host calls a stack, and device work the stack of its call. The frames include inlined
/// functions, a Python function, and frames without a name.
inline void addStacks(Trace& t) {
  const auto text = [&](std::string_view s) { return t.strings.intern(s); };
  const StringId app = text("/opt/app/train");
  const StringId library = text("/usr/lib/libmodel.so.2");
  const StringId build = text("00112233445566778899aabbccddeeff00112233");
  const FrameRow frames[] = {
      {.address = 0x401200, .module = app, .module_offset = 0x1200},
      {.function = text("train"), .file = text("model.py"), .line = 15, .module = text("Python")},
      {.function = text("train"), .file = text("model.py"), .line = 16, .module = text("Python")},
      {.address = 0x7f0010, .module = library, .module_offset = 0x10, .build_id = build},
      {.address = 0x7f0020, .module = library, .module_offset = 0x20, .build_id = build},
      {.address = 0x123456},
      {.function = text("[more callers]"), .flags = frame_flags::kTruncatedBelow},
      {.address = 0x7f0030,
       .module = library,
       .module_offset = 0x30,
       .build_id = build,
       .flags = frame_flags::kExact}};
  for (const FrameRow& frame : frames) t.frame.push(frame);
  t.symbol.push({FrameId(1), 0, text("main"), text("main.cpp"), 7});
  t.symbol.push({FrameId(4), 0, text("launch<int>()"), text("launch.h"), 3});
  t.symbol.push({FrameId(4), 1, text("step(int)"), text("step \"1\".cpp"), 41});
  const CallPathRow paths[] = {{{}, FrameId(1)},             // 1: main
                               {CallPathId(1), FrameId(2)},  // 2: main, train
                               {CallPathId(1), FrameId(3)},  // 3: main, train (another line)
                               {CallPathId(2), FrameId(4)},  // 4: main, train, step, launch
                               {CallPathId(3), FrameId(4)},  // 5
                               {CallPathId(3), FrameId(5)},  // 6: main, train, no name
                               {{}, FrameId(7)},             // 7: unknown callers
                               {CallPathId(7), FrameId(6)},  // 8: 7, address outside any module
                               {CallPathId(4), FrameId(4)},  // 9: recursion
                               // 10: an instruction that is not a call.
                               {CallPathId(1), FrameId(8)}};
  for (const CallPathRow& path : paths) t.call_path.push(path);
  std::map<std::pair<ProcessId, uint64_t>, CallPathId> of_call;
  for (size_t i = 0; i < t.host_call.size(); ++i) {
    const auto path = static_cast<CallPathId>(i % (std::size(paths) + 1));
    t.host_call.call_path_id[i] = path;
    of_call[{t.host_call.process_id[i], t.host_call.correlation_id[i]}] = path;
  }
  const auto give = [&](auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      table.call_path_id[i] = of_call[{table.process_id[i], table.correlation_id[i]}];
    }
  };
  give(t.kernel);
  give(t.copy);
  give(t.fill);
  give(t.sync);
}

}  // namespace tracesmith::sample
