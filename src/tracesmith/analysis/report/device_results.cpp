// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/report/device_results.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tracesmith/analysis/streaming/device_op_stream.hpp"
#include "tracesmith/analysis/streaming/step_sweep.hpp"
#include "tracesmith/analysis/streaming/time_sweep.hpp"

namespace tracesmith {
namespace {

class InMemory : public DeviceResults {
 public:
  InMemory(const Trace& trace, const DeviceOps& ops, const AnalysisOptions& options)
      : trace_(trace), ops_(ops), options_(options) {}

  TimeBreakdown all() const override { return breakdownOf(ops_); }
  std::vector<TimeBreakdown> byDevice() const override { return breakdownByDevice(ops_); }
  std::vector<IdleTime> idle() const override { return idleTimes(ops_, options_); }
  std::vector<StreamUse> streams() const override { return streamUses(ops_); }
  std::vector<NamedStats> kernels() const override {
    return options_.as_hta ? kernelStats(trace_, ops_) : kernelStats(trace_);
  }
  std::vector<NamedStats> copies() const override {
    return options_.as_hta ? copyStats(trace_, ops_) : copyStats(trace_);
  }
  std::vector<PeerCopies> peers() const override { return peerCopies(trace_); }
  LaunchLatency launches() const override { return launchLatency(trace_, ops_, options_); }
  std::vector<QueueDepth> queues() const override { return queueDepths(trace_, ops_, options_); }
  StepUses steps() const override { return stepUses(trace_, ops_); }
  std::vector<ShapeUse> shapes() const override {
    ShapeUses uses(trace_);
    if (options_.as_hta) {
      for (const DeviceOp& op : ops_.ops) {
        if (op.table == TableId::kKernel) uses.add(trace_.kernel, op.row, op.end_ns - op.begin_ns);
      }
    } else {
      uses.addAll(trace_.kernel);
    }
    return uses.all();
  }

 private:
  const Trace& trace_;
  const DeviceOps& ops_;
  const AnalysisOptions& options_;
};

/// Sums over rows of kernels, copies and fills, by name; what each thread has seen is apart.
class RowSums {
 public:
  RowSums(const Trace& tables, unsigned threads, const CollectedParts& parts)
      : tables_(tables),
        names_(parts.names),
        has_shapes_(parts.shapes),
        shapes_(tables),
        of_threads_(threads, OfThread(tables)) {
    for (OfThread& each : of_threads_) each.kernels.resize(tables.strings.size() + 1);
  }

  void addKernels(const KernelTable& rows, unsigned thread) {
    OfThread& to = of_threads_[thread];
    if (has_shapes_) to.shapes.addAll(rows);
    if (!names_) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      if ((rows.flags[i] & op_flags::kNoDeviceTime) != 0) continue;
      const auto id = static_cast<size_t>(rows.name[i]);
      NamedDurations& kernel = to.kernels[id < to.kernels.size() ? id : 0];
      kernel.durations.add(rows.duration_ns[i]);
      kernel.first_launches += (rows.flags[i] & op_flags::kFirstLaunch) != 0 ? 1 : 0;
    }
  }

  void addCopies(const CopyTable& copies, const FillTable& fills, unsigned thread) {
    if (!names_) return;
    OfThread& to = of_threads_[thread];
    const auto add = [&](const auto& table, auto&& name_of) {
      for (size_t i = 0; i < table.size(); ++i) {
        if ((table.flags[i] & op_flags::kNoDeviceTime) != 0) continue;
        NamedDurations& named = to.copies[std::string(name_of(i))];
        named.durations.add(table.duration_ns[i]);
        named.bytes += table.bytes[i];
      }
    };
    add(copies, [&](size_t i) { return toString(copies.kind[i]); });
    add(fills, [](size_t) { return std::string_view("fill"); });
    to.peers.add(tables_, copies);
  }

  void finish() {
    std::map<std::string, NamedDurations> copies;
    for (OfThread& each : of_threads_) {
      shapes_.add(each.shapes);
      peers_.add(each.peers);
      for (auto& [kind, durations] : each.copies) copies[kind].add(std::move(durations));
    }
    for (auto& [kind, durations] : copies) copies_.push_back(durations.finish(kind));
    finishStats(copies_);
    finishKernels();
    of_threads_.clear();
  }

  const std::vector<NamedStats>& kernels() const { return kernels_; }
  const std::vector<NamedStats>& copies() const { return copies_; }
  std::vector<PeerCopies> peers() const { return peers_.all(tables_); }
  std::vector<ShapeUse> shapes() const { return shapes_.all(); }

 private:
  struct OfThread {
    explicit OfThread(const Trace& tables) : shapes(tables) {}
    std::vector<NamedDurations> kernels;  // by name
    std::map<std::string, NamedDurations> copies;
    PeerCopySums peers;
    ShapeUses shapes;
  };

  /// Name by name, so that not all durations are there twice.
  void finishKernels() {
    std::map<std::string, std::vector<size_t>> ids;  // names of equal text
    for (size_t id = 0; id <= tables_.strings.size(); ++id) {
      for (const OfThread& each : of_threads_) {
        if (each.kernels[id].durations.empty()) continue;
        ids[std::string(tables_.text(StringId{static_cast<uint32_t>(id)}))].push_back(id);
        break;
      }
    }
    for (const auto& [name, all_ids] : ids) {
      NamedDurations all;
      for (OfThread& each : of_threads_) {
        for (const size_t id : all_ids) all.add(std::move(each.kernels[id]));
      }
      kernels_.push_back(all.finish(name));
    }
    finishStats(kernels_);
  }

  const Trace& tables_;
  const bool names_, has_shapes_;
  ShapeUses shapes_;
  std::vector<OfThread> of_threads_;
  PeerCopySums peers_;
  std::vector<NamedStats> kernels_, copies_;
};

/// Of a WorkTrace: sums over rows were made while it was read, times of devices, streams and steps
/// are made in one pass over its ops when one of them is asked for.
class OfWork : public InMemory {
 public:
  OfWork(const WorkTrace& work, std::unique_ptr<RowSums> sums, bool has_steps,
         const AnalysisOptions& options)
      : InMemory(work.trace, work.ops, options),
        work_(work),
        sums_(std::move(sums)),
        has_steps_(has_steps),
        sweep_(work.trace, options) {}

  TimeBreakdown all() const override {
    sweepOnce();
    return all_;
  }
  std::vector<TimeBreakdown> byDevice() const override {
    sweepOnce();
    return devices_;
  }
  std::vector<IdleTime> idle() const override {
    sweepOnce();
    return sweep_.idle();
  }
  std::vector<StreamUse> streams() const override {
    sweepOnce();
    return sweep_.streams();
  }
  StepUses steps() const override {
    sweepOnce();
    return step_uses_;
  }
  std::vector<NamedStats> kernels() const override {
    finishSumsOnce();
    return sums_->kernels();
  }
  std::vector<NamedStats> copies() const override {
    finishSumsOnce();
    return sums_->copies();
  }
  std::vector<PeerCopies> peers() const override {
    finishSumsOnce();
    return sums_->peers();
  }
  std::vector<ShapeUse> shapes() const override {
    finishSumsOnce();
    return sums_->shapes();
  }

 private:
  void sweepOnce() const {
    std::call_once(is_swept_, [this] {
      std::optional<StepSweep> steps;
      if (has_steps_) steps.emplace(work_.trace, stepsOf(work_.trace, work_.ops));
      const Column<DeviceOp>& ops = work_.ops.ops;
      const std::vector<uint32_t>& order = work_.orders.by_begin;
      // Neighbours in this order are far from each other in memory.
      constexpr size_t kAhead = 16;
      for (size_t i = 0; i < order.size(); ++i) {
        if (i + 2 * kAhead < order.size()) __builtin_prefetch(&ops[order[i + 2 * kAhead]]);
        if (i + kAhead < order.size()) work_.ops.calls.prefetch(ops[order[i + kAhead]].launch);
        const StreamedOp op = streamedOpOf(work_.trace, work_.ops, ops[order[i]]);
        sweep_.add(op, [](DeviceId, int64_t, IdleReason) {});
        if (steps) steps->add(op);
      }
      all_ = sweep_.all();
      devices_ = sweep_.byDevice();
      if (steps) step_uses_ = steps->finish();
    });
  }
  void finishSumsOnce() const {
    std::call_once(are_sums_finished_, [this] { sums_->finish(); });
  }

  const WorkTrace& work_;
  const std::unique_ptr<RowSums> sums_;
  const bool has_steps_;
  mutable std::once_flag is_swept_, are_sums_finished_;
  mutable TimeSweep sweep_;
  mutable TimeBreakdown all_;
  mutable std::vector<TimeBreakdown> devices_;
  mutable StepUses step_uses_;
};

class ByBlock : public DeviceResults {
 public:
  ByBlock(TraceScan& scan, const AnalysisOptions& options, CollectedParts parts)
      : tables_(scan.tables()),
        parts_(std::move(parts)),
        sweep_(scan.tables(), options),
        sums_(tables_, scan.threads(), parts_),
        delays_(scan.threads()) {}

  Result<bool> read(TraceScan& scan) {
    if (parts_.steps) step_sweep_.emplace(tables_, std::move(*parts_.steps));
    std::function<void(const WorkBlock&)> on_block;
    if (parts_.names || parts_.launches || parts_.shapes) {
      on_block = [this](const WorkBlock& block) { collect(block); };
    }
    TS_TRY(LaunchTimes launches, readLaunchTimes(scan, parts_.launches));
    TS_TRY(const StreamEnd end,
           streamDeviceOps(scan, launches, on_block, [&](const StreamedOp& op) {
             sweep_.add(op, [](DeviceId, int64_t, IdleReason) {});
             if (parts_.queues) addToQueue(op);
             if (step_sweep_) step_sweep_->add(op);
           }));
    launches = {};
    if (end != StreamEnd::kComplete) return false;
    all_ = sweep_.all();
    devices_ = sweep_.byDevice();
    if (step_sweep_) step_uses_ = step_sweep_->finish();
    finishQueues();
    finishDelays();
    sums_.finish();
    return true;
  }

  TimeBreakdown all() const override { return all_; }
  std::vector<TimeBreakdown> byDevice() const override { return devices_; }
  std::vector<IdleTime> idle() const override { return sweep_.idle(); }
  std::vector<StreamUse> streams() const override { return sweep_.streams(); }
  std::vector<NamedStats> kernels() const override { return sums_.kernels(); }
  std::vector<NamedStats> copies() const override { return sums_.copies(); }
  std::vector<PeerCopies> peers() const override { return sums_.peers(); }
  LaunchLatency launches() const override { return launches_; }
  std::vector<QueueDepth> queues() const override { return queue_depths_; }
  std::vector<ShapeUse> shapes() const override { return sums_.shapes(); }
  StepUses steps() const override { return step_uses_; }

 private:
  /// Of one stream.
  struct Queue {
    ProcessId process{};
    QueuedLaunches launches;
  };

  void addToQueue(const StreamedOp& op) {
    Queue& queue = queues_.try_emplace(op.stream, Queue{.process = op.process}).first->second;
    if (op.launch_ns != LaunchTimes::kNone) queue.launches.add(op.launch_ns, op.begin_ns);
  }

  void finishQueues() {
    for (auto& [stream, queue] : queues_) {
      if (queue.launches.empty()) continue;
      QueueDepth depth = queue.launches.finish();
      queue.launches = {};
      depth.stream = stream;
      depth.device = tables_.deviceOf(stream);
      depth.process = queue.process;
      queue_depths_.push_back(depth);
    }
  }

  void finishDelays() {
    LaunchDelays all;
    for (LaunchDelays& each : delays_) all.add(std::move(each));
    launches_ = all.finish();
  }

  void collect(const WorkBlock& block) {
    sums_.addKernels(block.rows.kernel, block.thread);
    sums_.addCopies(block.rows.copy, block.rows.fill, block.thread);
    if (!parts_.launches) return;
    LaunchDelays& delays = delays_[block.thread];
    for (const StreamedOp& op : block.ops) {
      if (op.launch_ns == LaunchTimes::kNone) {
        delays.addWithoutLaunch();
      } else {
        delays.add(op.launch_ns, op.launch_end_ns, op.begin_ns, op.end_ns);
      }
    }
  }

  const Trace& tables_;
  CollectedParts parts_;
  TimeSweep sweep_;
  RowSums sums_;
  std::vector<LaunchDelays> delays_;  // by thread
  std::optional<StepSweep> step_sweep_;
  StepUses step_uses_;
  std::map<StreamId, Queue> queues_;
  std::vector<QueueDepth> queue_depths_;
  LaunchLatency launches_;
  TimeBreakdown all_;
  std::vector<TimeBreakdown> devices_;
};

}  // namespace

std::unique_ptr<DeviceResults> resultsInMemory(const Trace& trace, const DeviceOps& ops,
                                               const AnalysisOptions& options) {
  return std::make_unique<InMemory>(trace, ops, options);
}

Result<std::unique_ptr<WorkResults>> readWorkResults(TraceScan& scan,
                                                     const AnalysisOptions& options,
                                                     const CollectedParts& parts, bool has_steps) {
  auto sums = std::make_unique<RowSums>(scan.tables(), scan.threads(), parts);
  auto out = std::make_unique<WorkResults>();
  TS_TRY(out->work, readWorkTrace(scan, [&](const KernelTable& rows, unsigned thread) {
           sums->addKernels(rows, thread);
         }));
  if (out->work == nullptr) return std::unique_ptr<WorkResults>();
  sums->addCopies(out->work->trace.copy, out->work->trace.fill, 0);
  out->results = std::make_unique<OfWork>(*out->work, std::move(sums), has_steps, options);
  return out;
}

Result<std::unique_ptr<DeviceResults>> resultsByBlock(TraceScan& scan,
                                                      const AnalysisOptions& options,
                                                      CollectedParts parts) {
  auto out = std::make_unique<ByBlock>(scan, options, std::move(parts));
  TS_TRY(const bool is_complete, out->read(scan));
  if (!is_complete) return std::unique_ptr<DeviceResults>();
  return std::unique_ptr<DeviceResults>(std::move(out));
}

}  // namespace tracesmith
