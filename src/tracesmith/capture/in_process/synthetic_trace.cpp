// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/synthetic_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace tracesmith {
namespace {

constexpr int64_t kMicro = 1000;
constexpr uint64_t kMega = 1u << 20;
constexpr uint64_t kBatchBytes = 6 * kMega;
constexpr uint64_t kWeightBytes = 16 * kMega;
constexpr uint64_t kActivationBytes = 24 * kMega;

/// Random numbers that are the same with every standard library (SplitMix64, Box-Muller).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double uniform() {  // [0, 1)
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(uniform() * static_cast<double>(high - low));
  }
  int64_t logNormal(double median, double sigma) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * uniform());
    return std::max<int64_t>(1, std::llround(median * std::exp(sigma * normal)));
  }

 private:
  uint64_t state_;
};

/// A kernel of the synthetic network: its duration and launch shape.
struct KernelModel {
  const char* name;
  double median_us;
  double sigma;
  uint32_t local;
  uint64_t global;
};
constexpr KernelModel kForward[] = {{"layer_norm_forward", 14, 0.12, 256, 1u << 18},
                                    {"sgemm_128x128_nn", 95, 0.08, 256, 1u << 16},
                                    {"softmax_forward", 22, 0.15, 128, 1u << 17},
                                    {"bias_gelu", 18, 0.15, 256, 1u << 20}};
constexpr KernelModel kBackward[] = {{"bias_gelu_backward", 24, 0.15, 256, 1u << 20},
                                     {"sgemm_128x128_nt", 98, 0.08, 256, 1u << 16},
                                     {"sgemm_128x128_tn", 102, 0.08, 256, 1u << 16},
                                     {"layer_norm_backward", 21, 0.12, 256, 1u << 18}};
constexpr KernelModel kReduce = {"all_reduce_sum", 140, 0.25, 512, 1u << 14};
constexpr KernelModel kUpdate = {"adam_update", 31, 0.1, 256, 1u << 20};

template <class Row>
int64_t timeOf(const Row& row) {
  if constexpr (requires { row.start_ns; })
    return row.start_ns;
  else
    return row.time_ns;
}
template <class Table>
void pushByTime(std::vector<typename Table::Row>& rows, Table& table) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return timeOf(a) < timeOf(b); });
  for (const auto& row : rows) table.push(row);
  rows.clear();
}

}  // namespace

class Simulation::Impl {
 public:
  explicit Impl(const SimulationOptions& options);
  void runUntil(int64_t host_ns);
  Trace take();

 private:
  struct Stream {
    StreamId id;
    int64_t free_ns = 0;  // end of its last work
    uint64_t last = 0;    // correlation id of that work
  };
  struct Device {
    Random random{0};
    double slowness = 1;  // devices differ in speed
    DeviceId id;
    ContextId context;
    ThreadId thread;
    int64_t host_ns = 0;
    std::vector<Stream> streams;
    uint64_t next_address = 0;
    std::vector<uint64_t> activations;
    size_t last_compute = 0;  // stream in which the backward pass ended
  };
  /// One piece of device work.
  struct Work {
    uint64_t correlation = 0;
    int64_t call_ns = 0;  // start of its host call
    int64_t call_end_ns = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  struct Reduction {
    Work work;
    int64_t duration_ns = 0;
  };

  size_t computeStream(const Device& d, uint32_t layer) const;
  size_t copyStream(const Device& d) const { return d.streams.size() > 1 ? 1 : 0; }
  size_t reduceStream(const Device& d) const { return d.streams.size() > 2 ? 2 : 0; }

  Work call(Device& d, const char* name, CallKind kind, StreamId stream, double median_us);
  Work enqueue(Device& d, const char* name, CallKind kind, size_t stream, int64_t duration_ns);
  void waitFor(Device& d, size_t stream, size_t other);
  Work kernel(Device& d, const KernelModel& model, size_t stream);
  void pushKernel(const Device& d, const KernelModel& model, const Work& w, size_t stream);
  void copy(Device& d, CopyKind kind, uint64_t bytes, size_t stream);
  void fill(Device& d, uint64_t bytes, size_t stream);
  void syncStream(Device& d, size_t stream);
  void allocate(Device& d, uint64_t bytes, bool keep);
  void release(Device& d);
  void range(const Device& d, const std::string& name, int64_t begin_ns);
  void iteration();
  void trainOn(Device& d, std::vector<Reduction>& reductions);
  ShapeId shapeOf(const KernelModel& model);

  SimulationOptions options_;
  Trace trace_;  // dictionaries; has event rows only during take()
  std::vector<Device> devices_;
  std::vector<std::pair<const char*, ShapeId>> shapes_;
  ProcessId process_ = idAt<ProcessId>(0);
  uint64_t next_correlation_;
  uint64_t kernels_ = 0;
  uint64_t iterations_ = 0;
  int64_t until_ns_ = 0;

  std::vector<HostCallRow> calls_;
  std::vector<KernelRow> kernel_rows_;
  std::vector<CopyRow> copies_;
  std::vector<FillRow> fills_;
  std::vector<SyncRow> syncs_;
  std::vector<MemoryEventRow> memory_;
  std::vector<RangeRow> ranges_;
  std::vector<FlowRow> flows_;
};

Simulation::Impl::Impl(const SimulationOptions& options)
    : options_(options), next_correlation_(std::max<uint64_t>(options.first_correlation_id, 1)) {
  options_.devices = std::clamp(options.devices, 1u, 64u);
  options_.streams = std::clamp(options.streams, 1u, 64u);
  options_.layers = std::clamp(options.layers, 1u, 1000u);
  const auto text = [&](std::string_view t) { return trace_.strings.intern(t); };
  trace_.setMetadata("synthetic", "true");
  trace_.setMetadata("producer", "TraceSmith simulation");
  trace_.setMetadata("simulation_seed", std::to_string(options_.seed));

  ProcessRow process;
  process.id = process_;
  process.pid = 1;
  process.start_ns = options_.start_ns;
  process.command_line = text("simulated training loop (synthetic)");
  process.flags = process_flags::kRoot;
  process.seen_by = text("simulation");
  trace_.process.push(process);

  for (uint32_t i = 0; i < options_.devices; ++i) {
    Device d;
    d.random = Random(options_.seed * 0x9e3779b97f4a7c15 + i);
    d.slowness = 1 + 0.04 * d.random.uniform();
    d.id = idAt<DeviceId>(i);
    d.context = idAt<ContextId>(i);
    d.thread = idAt<ThreadId>(i);
    d.host_ns = options_.start_ns + d.random.between(0, 50 * kMicro);
    d.next_address = (uint64_t{i} + 1) << 40;

    DeviceRow device;
    device.id = d.id;
    device.backend = PlatformType::Simulation;
    device.ordinal = i;
    device.name = text("Simulated device (synthetic)");
    device.platform = text("Simulation");
    trace_.device.push(device);
    ContextRow context;
    context.id = d.context;
    context.process_id = process_;
    context.handle = i + 1;
    context.ordinal = i;
    context.device_id = d.id;
    context.created_ns = d.host_ns;
    trace_.context.push(context);
    ThreadRow thread;
    thread.id = d.thread;
    thread.process_id = process_;
    thread.tid = i + 1;
    thread.name = text(fmt::format("trainer {}", i));
    trace_.thread.push(thread);
    for (uint32_t s = 0; s < options_.streams; ++s) {
      StreamRow stream;
      stream.id = idAt<StreamId>(trace_.stream.size());
      stream.process_id = process_;
      stream.context_id = d.context;
      stream.device_id = d.id;
      stream.ordinal = static_cast<uint32_t>(trace_.stream.size());
      stream.handle = stream.ordinal + 1;
      stream.created_ns = d.host_ns;
      stream.name = text(s == 1 ? "copies" : s == 2 ? "communication" : "compute");
      trace_.stream.push(stream);
      d.streams.push_back({stream.id});
    }
    for (uint32_t layer = 0; layer < options_.layers; ++layer) allocate(d, kWeightBytes, true);
    devices_.push_back(std::move(d));
  }
}

/// Layers alternate between the first stream and those beyond the third.
size_t Simulation::Impl::computeStream(const Device& d, uint32_t layer) const {
  const size_t more = d.streams.size() > 3 ? d.streams.size() - 3 : 0;
  const size_t turn = layer % (more + 1);
  return turn == 0 ? 0 : 2 + turn;
}

ShapeId Simulation::Impl::shapeOf(const KernelModel& model) {
  for (const auto& known : shapes_)
    if (known.first == model.name) return known.second;
  LaunchShapeRow shape;
  shape.dimensions = 1;
  shape.global_x = model.global;
  shape.global_y = shape.global_z = 1;
  shape.local_x = model.local;
  shape.local_y = shape.local_z = 1;
  trace_.launch_shape.push(shape);
  shapes_.emplace_back(model.name, idAt<ShapeId>(trace_.launch_shape.size() - 1));
  return shapes_.back().second;
}

// --- The host -------------------------------------------------------------------------------

/// A host call: first some time passes, then the call takes some time.
Simulation::Impl::Work Simulation::Impl::call(Device& d, const char* name, CallKind kind,
                                              StreamId stream, double median_us) {
  d.host_ns += d.random.logNormal(2.5 * kMicro, 0.5);
  Work w;
  w.correlation = next_correlation_++;
  w.call_ns = d.host_ns;
  w.call_end_ns = w.call_ns + d.random.logNormal(median_us * kMicro, 0.3);
  d.host_ns = w.call_end_ns;
  HostCallRow row;
  row.start_ns = w.call_ns;
  row.duration_ns = w.call_end_ns - w.call_ns;
  row.name = trace_.strings.intern(name);
  row.process_id = process_;
  row.thread_id = d.thread;
  row.stream_id = stream;
  row.correlation_id = w.correlation;
  row.kind = kind;
  row.flags = op_flags::kSynthetic;
  calls_.push_back(row);
  return w;
}

/// A host call that enqueues work on a stream. The work starts 5 to 50 µs after the call started,
/// and not before the earlier work of the stream is done.
Simulation::Impl::Work Simulation::Impl::enqueue(Device& d, const char* name, CallKind kind,
                                                 size_t stream, int64_t duration_ns) {
  Stream& s = d.streams[stream];
  Work w = call(d, name, kind, s.id, 3.5);
  const int64_t latency = d.random.between(5 * kMicro, 50 * kMicro);
  w.start_ns = std::max({w.call_ns + latency, w.call_end_ns, s.free_ns});
  w.end_ns = w.start_ns + duration_ns;
  s.free_ns = w.end_ns;
  s.last = w.correlation;
  return w;
}

/// Makes later work in `stream` wait for the current work in `other`.
void Simulation::Impl::waitFor(Device& d, size_t stream, size_t other) {
  if (stream == other || d.streams[other].last == 0) return;
  d.streams[stream].free_ns = std::max(d.streams[stream].free_ns, d.streams[other].free_ns);
  FlowRow flow;
  flow.process_id = process_;
  flow.from_correlation_id = d.streams[other].last;
  flow.to_correlation_id = next_correlation_;  // the next call is the waiting one
  flow.kind = FlowKind::kWait;
  flows_.push_back(flow);
}

void Simulation::Impl::pushKernel(const Device& d, const KernelModel& model, const Work& w,
                                  size_t stream) {
  KernelRow row;
  row.start_ns = w.start_ns;
  row.duration_ns = w.end_ns - w.start_ns;
  row.name = trace_.strings.intern(model.name);
  row.process_id = process_;
  row.thread_id = d.thread;
  row.stream_id = d.streams[stream].id;
  row.correlation_id = w.correlation;
  row.shape_id = shapeOf(model);
  row.flags = op_flags::kSynthetic | op_flags::kQueueTimes;
  row.queued_before_ns = w.start_ns - w.call_ns;
  row.submitted_before_ns = w.start_ns - w.call_end_ns;
  kernel_rows_.push_back(row);
  ++kernels_;
}

Simulation::Impl::Work Simulation::Impl::kernel(Device& d, const KernelModel& model,
                                                size_t stream) {
  const int64_t duration =
      d.random.logNormal(model.median_us * static_cast<double>(kMicro) * d.slowness, model.sigma);
  const Work w = enqueue(d, "simLaunchKernel", CallKind::kLaunch, stream, duration);
  pushKernel(d, model, w, stream);
  return w;
}

void Simulation::Impl::copy(Device& d, CopyKind kind, uint64_t bytes, size_t stream) {
  // About 20 GB/s plus a fixed cost.
  const int64_t duration = d.random.logNormal(1.5 * kMicro + static_cast<double>(bytes) / 20, 0.05);
  const Work w = enqueue(d, "simMemcpyAsync", CallKind::kCopy, stream, duration);
  CopyRow row;
  row.start_ns = w.start_ns;
  row.duration_ns = duration;
  row.kind = kind;
  row.process_id = process_;
  row.thread_id = d.thread;
  row.stream_id = d.streams[stream].id;
  row.correlation_id = w.correlation;
  row.bytes = bytes;
  row.flags = op_flags::kSynthetic | op_flags::kQueueTimes;
  row.queued_before_ns = w.start_ns - w.call_ns;
  row.submitted_before_ns = w.start_ns - w.call_end_ns;
  copies_.push_back(row);
}

void Simulation::Impl::fill(Device& d, uint64_t bytes, size_t stream) {
  const int64_t duration = d.random.logNormal(1.2 * kMicro + static_cast<double>(bytes) / 900, 0.1);
  const Work w = enqueue(d, "simMemsetAsync", CallKind::kFill, stream, duration);
  FillRow row;
  row.start_ns = w.start_ns;
  row.duration_ns = duration;
  row.process_id = process_;
  row.thread_id = d.thread;
  row.stream_id = d.streams[stream].id;
  row.correlation_id = w.correlation;
  row.bytes = bytes;
  row.flags = op_flags::kSynthetic | op_flags::kQueueTimes;
  row.queued_before_ns = w.start_ns - w.call_ns;
  row.submitted_before_ns = w.start_ns - w.call_end_ns;
  fills_.push_back(row);
}

void Simulation::Impl::syncStream(Device& d, size_t stream) {
  const Work w = call(d, "simStreamSynchronize", CallKind::kSync, d.streams[stream].id, 1.5);
  const int64_t end_ns = std::max(w.call_end_ns, d.streams[stream].free_ns + 4 * kMicro);
  d.host_ns = end_ns;
  calls_.back().duration_ns = end_ns - w.call_ns;
  SyncRow row;
  row.start_ns = w.call_ns;
  row.duration_ns = end_ns - w.call_ns;
  row.kind = SyncKind::kStreamWait;
  row.process_id = process_;
  row.thread_id = d.thread;
  row.stream_id = d.streams[stream].id;
  row.correlation_id = w.correlation;
  row.flags = op_flags::kSynthetic | op_flags::kHostSide | op_flags::kBlocking;
  syncs_.push_back(row);
}

void Simulation::Impl::allocate(Device& d, uint64_t bytes, bool keep) {
  const Work w = call(d, "simMalloc", CallKind::kMemory, StreamId::kNone, 2);
  MemoryEventRow row;
  row.time_ns = w.call_end_ns;
  row.kind = MemoryKind::kAlloc;
  row.process_id = process_;
  row.thread_id = d.thread;
  row.context_id = d.context;
  row.device_id = d.id;
  row.address = d.next_address;
  row.bytes = bytes;
  row.correlation_id = w.correlation;
  row.name = trace_.strings.intern("simMalloc");
  memory_.push_back(row);
  if (!keep) d.activations.push_back(d.next_address);
  d.next_address += bytes;
}

void Simulation::Impl::release(Device& d) {
  const Work w = call(d, "simFree", CallKind::kMemory, StreamId::kNone, 1.5);
  MemoryEventRow row;
  row.time_ns = w.call_ns;
  row.kind = MemoryKind::kFree;
  row.process_id = process_;
  row.thread_id = d.thread;
  row.context_id = d.context;
  row.device_id = d.id;
  row.address = d.activations.back();
  row.bytes = kActivationBytes;
  row.correlation_id = w.correlation;
  row.name = trace_.strings.intern("simFree");
  memory_.push_back(row);
  d.activations.pop_back();
  // the next iteration reuses the addresses
  if (d.activations.empty()) d.next_address = row.address;
}

void Simulation::Impl::range(const Device& d, const std::string& name, int64_t begin_ns) {
  RangeRow row;
  row.start_ns = begin_ns;
  row.duration_ns = d.host_ns - begin_ns;
  row.name = trace_.strings.intern(name);
  row.category = trace_.strings.intern("simulation");
  row.process_id = process_;
  row.thread_id = d.thread;
  ranges_.push_back(row);
}

// --- The training loop ----------------------------------------------------------------------

void Simulation::Impl::trainOn(Device& d, std::vector<Reduction>& reductions) {
  copy(d, CopyKind::kHostToDevice, kBatchBytes, copyStream(d));
  waitFor(d, 0, copyStream(d));
  fill(d, kWeightBytes * options_.layers, 0);

  const int64_t forward_ns = d.host_ns;
  size_t stream = 0;
  for (uint32_t layer = 0; layer < options_.layers; ++layer) {
    allocate(d, kActivationBytes, false);
    const size_t next = computeStream(d, layer);
    waitFor(d, next, stream);
    stream = next;
    for (const KernelModel& model : kForward) kernel(d, model, stream);
  }
  range(d, "forward", forward_ns);

  const int64_t backward_ns = d.host_ns;
  for (uint32_t layer = options_.layers; layer-- > 0;) {
    const size_t next = computeStream(d, layer);
    waitFor(d, next, stream);
    stream = next;
    for (const KernelModel& model : kBackward) kernel(d, model, stream);
    release(d);
    // Gradients of four layers are reduced together, while the next layers are computed. Without a
    // separate stream, all are reduced at the end.
    const bool due = layer % 4 == 0 && (reduceStream(d) != 0 || layer == 0);
    if (due && options_.devices > 1) {
      waitFor(d, reduceStream(d), stream);
      Reduction r;
      r.duration_ns =
          d.random.logNormal(kReduce.median_us * static_cast<double>(kMicro), kReduce.sigma);
      r.work = enqueue(d, "simAllReduce", CallKind::kLaunch, reduceStream(d), r.duration_ns);
      reductions.push_back(r);
    }
  }
  range(d, "backward", backward_ns);
  d.last_compute = stream;
}

void Simulation::Impl::iteration() {
  std::vector<std::vector<Reduction>> reductions(devices_.size());
  std::vector<int64_t> begins;
  for (size_t i = 0; i < devices_.size(); ++i) {
    begins.push_back(devices_[i].host_ns);
    trainOn(devices_[i], reductions[i]);
  }
  // A collective starts its work when the last device has reached it, and ends on all devices at
  // the same time. Devices that arrive early wait in it.
  std::vector<int64_t> shift(devices_.size(), 0);
  for (size_t k = 0; k < reductions[0].size(); ++k) {
    int64_t last_ns = 0, duration_ns = 0;
    for (size_t i = 0; i < devices_.size(); ++i) {
      Reduction& r = reductions[i][k];
      r.work.start_ns += shift[i];
      last_ns = std::max(last_ns, r.work.start_ns);
      duration_ns = std::max(duration_ns, r.duration_ns);
    }
    for (size_t i = 0; i < devices_.size(); ++i) {
      Reduction& r = reductions[i][k];
      r.work.end_ns = last_ns + duration_ns;
      Stream& s = devices_[i].streams[reduceStream(devices_[i])];
      s.free_ns = std::max(s.free_ns, r.work.end_ns);
      // Later work in the same stream shifts by the delay.
      if (k + 1 < reductions[i].size())
        shift[i] = std::max<int64_t>(0, r.work.end_ns - reductions[i][k + 1].work.start_ns);
      pushKernel(devices_[i], kReduce, r.work, reduceStream(devices_[i]));
    }
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& d = devices_[i];
    const int64_t optimizer_ns = d.host_ns;
    waitFor(d, 0, d.last_compute);
    if (devices_.size() > 1) waitFor(d, 0, reduceStream(d));
    for (uint32_t group = 0; group < 2; ++group) kernel(d, kUpdate, 0);
    range(d, "optimizer", optimizer_ns);
    copy(d, CopyKind::kDeviceToHost, 4, 0);
    syncStream(d, 0);
    range(d, fmt::format("iteration {}", iterations_), begins[i]);
  }
  ++iterations_;
}

void Simulation::Impl::runUntil(int64_t host_ns) {
  until_ns_ = std::max(until_ns_, host_ns);
  const auto behind = [&](const Device& d) { return d.host_ns < host_ns; };
  while (std::any_of(devices_.begin(), devices_.end(), behind)) {
    if (kernels_ >= options_.max_kernels) {
      trace_.setMetadata("simulation_cut", "max_kernels");
      return;
    }
    iteration();
  }
}

Trace Simulation::Impl::take() {
  Trace out = trace_;
  pushByTime(calls_, out.host_call);
  pushByTime(kernel_rows_, out.kernel);
  pushByTime(copies_, out.copy);
  pushByTime(fills_, out.fill);
  pushByTime(syncs_, out.sync);
  pushByTime(memory_, out.memory_event);
  pushByTime(ranges_, out.range);
  for (const FlowRow& row : flows_) out.flow.push(row);
  flows_.clear();
  return out;
}

Simulation::Simulation(const SimulationOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Simulation::~Simulation() = default;
void Simulation::runUntil(int64_t host_ns) { impl_->runUntil(host_ns); }
Trace Simulation::take() { return impl_->take(); }

Trace simulateTrace(const SimulationOptions& options) {
  Simulation simulation(options);
  const double seconds = options.duration_s > 0 ? std::min(options.duration_s, 1e9) : 0;
  simulation.runUntil(options.start_ns + std::llround(seconds * 1e9));
  return simulation.take();
}

}  // namespace tracesmith
