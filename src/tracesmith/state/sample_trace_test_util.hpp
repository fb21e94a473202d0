// SPDX-License-Identifier: Apache-2.0
// For tests: builds a Trace by hand, a line per event.
#pragma once

#include <string_view>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::test {

class SampleTrace {
 public:
  Trace trace;

  StringId text(std::string_view s) { return trace.strings.intern(s); }

  ProcessId process(uint32_t pid, std::string_view command_line) {
    const auto id = idAt<ProcessId>(trace.process.size());
    trace.process.push({.id = id, .pid = pid, .command_line = text(command_line)});
    return id;
  }
  ThreadId thread(ProcessId process, uint32_t tid) {
    const auto id = idAt<ThreadId>(trace.thread.size());
    trace.thread.push({.id = id, .process_id = process, .tid = tid});
    return id;
  }
  DeviceId device(std::string_view name, PlatformType backend = PlatformType::OpenCL) {
    const auto id = idAt<DeviceId>(trace.device.size());
    trace.device.push({.id = id,
                       .backend = backend,
                       .ordinal = static_cast<uint32_t>(trace.device.size()),
                       .name = text(name),
                       .kind = DeviceKind::kGpu});
    return id;
  }
  StreamId stream(DeviceId device, ProcessId process = ProcessId::kNone,
                  std::string_view name = {}) {
    const auto context = idAt<ContextId>(trace.context.size());
    trace.context.push({.id = context, .process_id = process, .device_id = device});
    const auto id = idAt<StreamId>(trace.stream.size());
    trace.stream.push({.id = id,
                       .process_id = process,
                       .context_id = context,
                       .device_id = device,
                       .ordinal = static_cast<uint32_t>(trace.stream.size()),
                       .name = text(name)});
    return id;
  }
  ShapeId shape(uint64_t global_x, uint32_t local_x) {
    trace.launch_shape.push({.dimensions = 1,
                             .global_x = global_x,
                             .global_y = 1,
                             .global_z = 1,
                             .local_x = local_x,
                             .local_y = local_x == 0 ? 0u : 1u,
                             .local_z = local_x == 0 ? 0u : 1u});
    return idAt<ShapeId>(trace.launch_shape.size() - 1);
  }
  void kernel(std::string_view name, StreamId stream, int64_t start_ns, int64_t duration_ns,
              uint64_t correlation_id = 0, ShapeId shape = ShapeId::kNone, uint32_t flags = 0) {
    trace.kernel.push({.start_ns = start_ns,
                       .duration_ns = duration_ns,
                       .name = text(name),
                       .process_id = processOf(stream),
                       .stream_id = stream,
                       .correlation_id = correlation_id,
                       .shape_id = shape,
                       .flags = flags});
  }
  void copy(CopyKind kind, StreamId stream, int64_t start_ns, int64_t duration_ns, uint64_t bytes,
            uint64_t correlation_id = 0) {
    trace.copy.push({.start_ns = start_ns,
                     .duration_ns = duration_ns,
                     .kind = kind,
                     .process_id = processOf(stream),
                     .stream_id = stream,
                     .correlation_id = correlation_id,
                     .bytes = bytes});
  }
  void fill(StreamId stream, int64_t start_ns, int64_t duration_ns, uint64_t bytes) {
    trace.fill.push({.start_ns = start_ns,
                     .duration_ns = duration_ns,
                     .process_id = processOf(stream),
                     .stream_id = stream,
                     .bytes = bytes});
  }
  void hostCall(std::string_view name, CallKind kind, ThreadId thread, StreamId stream,
                int64_t start_ns, int64_t duration_ns, uint64_t correlation_id = 0,
                int64_t result = 0) {
    trace.host_call.push({.start_ns = start_ns,
                          .duration_ns = duration_ns,
                          .name = text(name),
                          .process_id = thread == ThreadId::kNone
                                            ? ProcessId::kNone
                                            : trace.thread.process_id[indexOf(thread)],
                          .thread_id = thread,
                          .stream_id = stream,
                          .correlation_id = correlation_id,
                          .result = result,
                          .kind = kind});
  }

 private:
  ProcessId processOf(StreamId stream) const {
    const bool known = stream != StreamId::kNone && indexOf(stream) < trace.stream.size();
    return known ? trace.stream.process_id[indexOf(stream)] : ProcessId::kNone;
  }
};

/// A small program: one process, one device, two streams. Times are in ns:
///
///   stream 1:  copy in 1000000..1200000, saxpy 1200000..1700000, saxpy 1800000..2000000
///   stream 2:  relu 1500000..1600000 (first launch), copy out 2000000..2400000
inline SampleTrace sampleProgram() {
  SampleTrace s;
  const ProcessId process = s.process(4242, "./saxpy --n 1000");
  const ThreadId thread = s.thread(process, 4243);
  const DeviceId device = s.device("Test GPU 3000");
  const StreamId first = s.stream(device, process);
  const StreamId second = s.stream(device, process, "copies");
  const ShapeId shape = s.shape(1000, 64);
  const ShapeId free_shape = s.shape(512, 0);
  s.hostCall("clEnqueueWriteBuffer", CallKind::kCopy, thread, first, 900000, 20000, 1);
  s.hostCall("clEnqueueNDRangeKernel", CallKind::kLaunch, thread, first, 930000, 5000, 2);
  s.hostCall("clEnqueueNDRangeKernel", CallKind::kLaunch, thread, first, 940000, 7000, 3);
  s.hostCall("clEnqueueNDRangeKernel", CallKind::kLaunch, thread, second, 950000, 6000, 4);
  s.hostCall("clEnqueueReadBuffer", CallKind::kCopy, thread, second, 960000, 1450000, 5);
  s.hostCall("clFinish", CallKind::kSync, thread, StreamId::kNone, 2410000, 1000, 0, -5);
  s.copy(CopyKind::kHostToDevice, first, 1000000, 200000, 4000, 1);
  s.kernel("saxpy", first, 1200000, 500000, 2, shape);
  s.kernel("saxpy", first, 1800000, 200000, 3, shape);
  s.kernel("relu", second, 1500000, 100000, 4, free_shape, op_flags::kFirstLaunch);
  s.copy(CopyKind::kDeviceToHost, second, 2000000, 400000, 4000, 5);
  return s;
}

}  // namespace tracesmith::test
