// SPDX-License-Identifier: Apache-2.0
// For tests: a program of one host thread, told call by call; the times follow.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith::findings::test {

class Program {
 public:
  static constexpr int64_t kCallNs = 2'000;
  static constexpr int64_t kLatencyNs = 1'000;

  Program() {
    process_ = sample_.process(1, "program");
    thread_ = sample_.thread(process_, 1);
    addDevice();
    addStream(0);
  }

  const Trace& trace() const { return sample_.trace; }
  int64_t now() const { return now_ns_; }
  size_t streams() const { return streams_.size(); }

  /// A device of 4 units with 1024 threads each, with a stream; streams are numbered in order: the
  /// first device has 0 and 1, the next ones have one each.
  void addDevice() {
    const DeviceId id = sample_.device("Test GPU", PlatformType::CUDA);
    DeviceRow row = sample_.trace.device.row(devices_.size());
    row.memory_bytes = uint64_t{32} << 30;
    row.compute_units = 4;
    row.warp_size = 32;
    row.max_threads_per_unit = 1024;
    row.shared_bytes_per_unit = 64 << 10;
    row.registers_per_unit = 65536;
    sample_.trace.device.set(devices_.size(), row);
    devices_.push_back(id);
    addStream(devices_.size() - 1);
  }

  ShapeId shape(uint64_t threads, uint32_t block, uint32_t shared_bytes) {
    const ShapeId id = sample_.shape(threads, block);
    const size_t i = sample_.trace.launch_shape.size() - 1;
    LaunchShapeRow row = sample_.trace.launch_shape.row(i);
    row.static_shared_bytes = shared_bytes;
    sample_.trace.launch_shape.set(i, row);
    return id;
  }

  /// Launches a kernel in stream 0. `later_ns`: added to the usual launch latency.
  void launch(std::string_view name, int64_t duration_ns, int64_t call_ns = kCallNs,
              int64_t later_ns = 0, ShapeId shape = ShapeId::kNone) {
    enqueue(0, CallKind::kLaunch, "cudaLaunchKernel", call_ns, later_ns, duration_ns,
            [&](StreamId stream, int64_t start, uint64_t id) {
              sample_.kernel(name, stream, start, duration_ns, id, shape);
            });
  }
  void launchIn(size_t stream, std::string_view name, int64_t duration_ns,
                ShapeId shape = ShapeId::kNone) {
    enqueue(stream, CallKind::kLaunch, "cudaLaunchKernel", kCallNs, 0, duration_ns,
            [&](StreamId in, int64_t start, uint64_t id) {
              sample_.kernel(name, in, start, duration_ns, id, shape);
            });
  }
  void copy(CopyKind kind, uint64_t bytes, int64_t duration_ns, std::string_view name) {
    copyIn(0, kind, bytes, duration_ns, name);
  }
  void copyIn(size_t stream_number, CopyKind kind, uint64_t bytes, int64_t duration_ns,
              std::string_view name) {
    enqueue(stream_number, CallKind::kCopy, "cudaMemcpyAsync", kCallNs, 0, duration_ns,
            [&](StreamId stream, int64_t start, uint64_t id) {
              sample_.copy(kind, stream, start, duration_ns, bytes, id);
              sample_.trace.copy.name[sample_.trace.copy.size() - 1] = sample_.text(name);
            });
  }
  /// A kernel whose launch is not in the trace.
  void deviceOnly(std::string_view name, int64_t start_ns, int64_t duration_ns) {
    sample_.kernel(name, streams_[0].id, start_ns, duration_ns);
  }
  void call(std::string_view name, CallKind kind, int64_t duration_ns) {
    sample_.hostCall(name, kind, thread_, StreamId::kNone, now_ns_, duration_ns, ++next_);
    now_ns_ += duration_ns;
  }
  /// A call of another thread; the time of the first does not change.
  void secondThread(std::string_view name, CallKind kind, int64_t start_ns, int64_t duration_ns) {
    if (second_thread_ == ThreadId{}) second_thread_ = sample_.thread(process_, 2);
    sample_.hostCall(name, kind, second_thread_, StreamId::kNone, start_ns, duration_ns, ++next_);
  }
  /// A call that returns when all streams are empty.
  void wait(std::string_view name) {
    int64_t end = now_ns_ + kCallNs;
    for (const Stream& stream : streams_) end = std::max(end, stream.free_ns + 500);
    call(name, CallKind::kSync, end - now_ns_);
  }
  void sleep(int64_t ns) { now_ns_ += ns; }
  /// Continues when all streams are empty, without a call.
  void finish() {
    for (const Stream& stream : streams_) now_ns_ = std::max(now_ns_, stream.free_ns);
  }
  void range(std::string_view name, int64_t begin_ns, int64_t end_ns) {
    sample_.trace.range.push({.start_ns = begin_ns,
                              .duration_ns = end_ns - begin_ns,
                              .name = sample_.text(name),
                              .process_id = process_,
                              .thread_id = thread_});
  }
  void allocate(uint64_t address, uint64_t bytes, int64_t time_ns) {
    memory(MemoryKind::kAlloc, address, bytes, time_ns);
  }
  void release(uint64_t address, int64_t time_ns) {
    memory(MemoryKind::kFree, address, 0, time_ns);
  }
  /// As importers do, which do not know how many events there were.
  void loseUnknown(uint64_t dropped, std::string_view reason) {
    sample_.trace.loss.push({.id = idAt<LossId>(sample_.trace.loss.size()),
                             .source = sample_.text("import"),
                             .emitted = 0,
                             .written = 2,
                             .dropped = dropped,
                             .reason = sample_.text(reason)});
  }
  void lose(uint64_t emitted, uint64_t dropped) {
    sample_.trace.loss.push(
        {.id = idAt<LossId>(sample_.trace.loss.size()),
         .source = sample_.text("calls"),
         .process_id = process_,
         .emitted = emitted,
         .written = emitted - dropped,
         .dropped = dropped,
         .reason = dropped > 0 ? sample_.text("the ring was full") : StringId::kNone});
  }

 private:
  struct Stream {
    StreamId id{};
    int64_t free_ns = 0;
  };

  void addStream(size_t device) {
    streams_.push_back({sample_.stream(devices_[device], process_), 0});
  }
  void memory(MemoryKind kind, uint64_t address, uint64_t bytes, int64_t time_ns) {
    sample_.trace.memory_event.push({.time_ns = time_ns,
                                     .kind = kind,
                                     .process_id = process_,
                                     .device_id = devices_[0],
                                     .address = address,
                                     .bytes = bytes});
  }
  template <class Add>
  void enqueue(size_t number, CallKind kind, std::string_view function, int64_t call_ns,
               int64_t later_ns, int64_t duration_ns, const Add& add) {
    Stream& stream = streams_[number];
    const int64_t start = std::max(stream.free_ns, now_ns_ + kLatencyNs + later_ns);
    sample_.hostCall(function, kind, thread_, stream.id, now_ns_, call_ns, ++next_);
    add(stream.id, start, next_);
    stream.free_ns = start + duration_ns;
    now_ns_ += call_ns;
  }

  tracesmith::test::SampleTrace sample_;
  ProcessId process_{};
  ThreadId thread_{};
  ThreadId second_thread_{};
  std::vector<DeviceId> devices_;
  std::vector<Stream> streams_;
  int64_t now_ns_ = 0;
  uint64_t next_ = 0;
};

}  // namespace tracesmith::findings::test
