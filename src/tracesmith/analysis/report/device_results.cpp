// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/report/device_results.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tracesmith/analysis/critical_path/op_order.hpp"
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

class InWorkTrace : public InMemory {
 public:
  InWorkTrace(const WorkTrace& work, const AnalysisOptions& options)
      : InMemory(work.trace, work.ops, options), work_(work) {}

  StepUses steps() const override {
    StepSweep sweep(work_.trace, stepsOf(work_.trace, work_.ops));
    for (const uint32_t i : opsByBegin(work_.ops)) {
      sweep.add(streamedOpOf(work_.trace, work_.ops, work_.ops.ops[i]));
    }
    return sweep.finish();
  }

 private:
  const WorkTrace& work_;
};

/// What one thread has seen.
struct Collected {
  explicit Collected(const Trace& tables) : shapes(tables) {}
  std::vector<NamedDurations> kernels;  // by name
  std::map<std::string, NamedDurations> copies;
  PeerCopySums peers;
  LaunchDelays delays;
  ShapeUses shapes;
};

class ByBlock : public DeviceResults {
 public:
  ByBlock(TraceScan& scan, const AnalysisOptions& options, CollectedParts parts)
      : tables_(scan.tables()),
        parts_(std::move(parts)),
        sweep_(scan.tables(), options),
        shapes_(tables_),
        collected_(scan.threads(), Collected(tables_)) {
    for (Collected& each : collected_) each.kernels.resize(tables_.strings.size() + 1);
  }

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
    finishCollected();
    return true;
  }

  TimeBreakdown all() const override { return all_; }
  std::vector<TimeBreakdown> byDevice() const override { return devices_; }
  std::vector<IdleTime> idle() const override { return sweep_.idle(); }
  std::vector<StreamUse> streams() const override { return sweep_.streams(); }
  std::vector<NamedStats> kernels() const override { return kernels_; }
  std::vector<NamedStats> copies() const override { return copies_; }
  std::vector<PeerCopies> peers() const override { return peers_.all(tables_); }
  LaunchLatency launches() const override { return launches_; }
  std::vector<QueueDepth> queues() const override { return queue_depths_; }
  std::vector<ShapeUse> shapes() const override { return shapes_.all(); }
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

  void collect(const WorkBlock& block) {
    Collected& to = collected_[block.thread];
    if (parts_.shapes) to.shapes.addAll(block.rows.kernel);
    if (parts_.names) collectNames(block, to);
    if (!parts_.launches) return;
    for (const StreamedOp& op : block.ops) {
      if (op.launch_ns == LaunchTimes::kNone) {
        to.delays.addWithoutLaunch();
      } else {
        to.delays.add(op.launch_ns, op.launch_end_ns, op.begin_ns, op.end_ns);
      }
    }
  }

  void collectNames(const WorkBlock& block, Collected& to) {
    const KernelTable& kernels = block.rows.kernel;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if ((kernels.flags[i] & op_flags::kNoDeviceTime) != 0) continue;
      const auto id = static_cast<size_t>(kernels.name[i]);
      NamedDurations& kernel = to.kernels[id < to.kernels.size() ? id : 0];
      kernel.durations.add(kernels.duration_ns[i]);
      kernel.first_launches += (kernels.flags[i] & op_flags::kFirstLaunch) != 0 ? 1 : 0;
    }
    const auto add = [&](const auto& table, auto&& name_of) {
      for (size_t i = 0; i < table.size(); ++i) {
        if ((table.flags[i] & op_flags::kNoDeviceTime) != 0) continue;
        NamedDurations& copies = to.copies[std::string(name_of(i))];
        copies.durations.add(table.duration_ns[i]);
        copies.bytes += table.bytes[i];
      }
    };
    add(block.rows.copy, [&](size_t i) { return toString(block.rows.copy.kind[i]); });
    add(block.rows.fill, [](size_t) { return std::string_view("fill"); });
    to.peers.add(tables_, block.rows.copy);
  }

  void finishCollected() {
    LaunchDelays delays;
    for (Collected& each : collected_) {
      delays.add(std::move(each.delays));
      shapes_.add(each.shapes);
    }
    launches_ = delays.finish();
    finishNames();
    collected_.clear();
  }

  /// Name by name, so that not all durations are there twice.
  void finishNames() {
    std::map<std::string, std::vector<size_t>> ids;  // names of equal text
    for (size_t id = 0; id <= tables_.strings.size(); ++id) {
      for (const Collected& each : collected_) {
        if (each.kernels[id].durations.empty()) continue;
        ids[std::string(tables_.text(StringId{static_cast<uint32_t>(id)}))].push_back(id);
        break;
      }
    }
    for (const auto& [name, all_ids] : ids) {
      NamedDurations all;
      for (Collected& each : collected_) {
        for (const size_t id : all_ids) all.add(std::move(each.kernels[id]));
      }
      kernels_.push_back(all.finish(name));
    }
    finishStats(kernels_);
    std::map<std::string, NamedDurations> copies;
    for (Collected& each : collected_) {
      peers_.add(each.peers);
      for (auto& [kind, durations] : each.copies) copies[kind].add(std::move(durations));
    }
    for (auto& [kind, durations] : copies) copies_.push_back(durations.finish(kind));
    finishStats(copies_);
  }

  const Trace& tables_;
  CollectedParts parts_;
  TimeSweep sweep_;
  std::optional<StepSweep> step_sweep_;
  StepUses step_uses_;
  std::map<StreamId, Queue> queues_;
  std::vector<QueueDepth> queue_depths_;
  LaunchLatency launches_;
  ShapeUses shapes_;
  std::vector<Collected> collected_;  // by thread
  TimeBreakdown all_;
  std::vector<TimeBreakdown> devices_;
  std::vector<NamedStats> kernels_, copies_;
  PeerCopySums peers_;
};

}  // namespace

std::unique_ptr<DeviceResults> resultsInMemory(const Trace& trace, const DeviceOps& ops,
                                               const AnalysisOptions& options) {
  return std::make_unique<InMemory>(trace, ops, options);
}

std::unique_ptr<DeviceResults> resultsOfWork(const WorkTrace& work,
                                             const AnalysisOptions& options) {
  return std::make_unique<InWorkTrace>(work, options);
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
