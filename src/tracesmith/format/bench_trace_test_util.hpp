// SPDX-License-Identifier: Apache-2.0
// For benchmarks: synthetic kernels with their launches, the same in each run, and their minimum
// size: the Shannon entropy of each column under the model that generated it.
//
// 200 names of 25 to 120 characters with Zipf frequencies and one to three launch shapes each; 8
// streams, launched from 4 threads; gaps log-normal around 1 us; the launch starts 5 to 50 us
// before its kernel and takes 3 to 5 us; correlation ids grow by 1 to 3 from launch to launch.
//   kIndependent    every name is drawn independently, durations log-normal around 8 us
//   kTrainingLoop   each stream repeats a sequence of 1500 kernels; a duration is that of the name,
//                   plus or minus 3 %
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::bench {

enum class TraceModel { kIndependent, kTrainingLoop };

/// Bits per kernel or launch.
struct ColumnEntropy {
  double duration, gap, shape_and_name, correlation, launch_lead, launch_duration;
  double kernelBytes() const { return (duration + gap + shape_and_name + correlation) / 8; }
  double bothBytes() const { return kernelBytes() + (launch_lead + launch_duration) / 8; }
};

class TraceGenerator {
 public:
  explicit TraceGenerator(TraceModel model) : model_(model) {
    double sum = 0;
    for (size_t n = 0; n < kNames; ++n) {
      std::string name = "kernel_" + std::to_string(n) + "_";
      for (const size_t length = 25 + below(96); name.size() < length;) {
        name += static_cast<char>('a' + below(26));
      }
      names_.push_back(trace_.strings.intern(name));
      shares_[n] = sum += 1.0 / static_cast<double>(n + 1);
      median_ns_[n] = logNormal(kDurationNs, 0.95);
      for (uint64_t s = 1 + below(3); s > 0; --s) {
        shapes_[n].push_back(idAt<ShapeId>(trace_.launch_shape.size()));
        trace_.launch_shape.push({.dimensions = 1,
                                  .global_x = 256 * (1 + trace_.launch_shape.size()),
                                  .local_x = uint32_t{64} << below(4)});
      }
    }
    api_ = trace_.strings.intern("clEnqueueNDRangeKernel");
    trace_.process.push({.id = ProcessId{1}, .pid = 4711});
    trace_.device.push({.id = DeviceId{1}, .name = trace_.strings.intern("made up")});
    trace_.context.push({.id = ContextId{1}, .process_id = ProcessId{1}, .device_id = DeviceId{1}});
    for (size_t s = 0; s < kStreams; ++s) {
      free_ns_[s] = 1'000'000'000 + static_cast<int64_t>(below(20'000));
      trace_.stream.push({.id = idAt<StreamId>(s),
                          .process_id = ProcessId{1},
                          .context_id = ContextId{1},
                          .device_id = DeviceId{1},
                          .ordinal = static_cast<uint32_t>(s)});
      for (auto& step : loop_[s]) step = drawShape();
    }
    for (uint32_t t = 0; t < kStreams / 2; ++t) {
      trace_.thread.push({.id = idAt<ThreadId>(t), .process_id = ProcessId{1}, .tid = 4711 + t});
    }
  }

  /// Has only dictionaries before the first call of add().
  Trace& trace() { return trace_; }

  /// Adds `kernels` more: kernels in order of their ends, launches in order of their starts.
  void add(size_t kernels) {
    std::vector<KernelRow> rows(kernels);
    std::vector<HostCallRow> launches(kernels);
    for (size_t i = 0; i < kernels; ++i) {
      const auto s = static_cast<size_t>(std::min_element(free_ns_.begin(), free_ns_.end()) -
                                         free_ns_.begin());
      const Step step =
          model_ == TraceModel::kIndependent ? drawShape() : loop_[s][at_[s]++ % kLoop];
      const double duration = model_ == TraceModel::kIndependent
                                  ? logNormal(kDurationNs, 1)
                                  : median_ns_[step.name] * (1 + kLoopSpread * normal());
      KernelRow& k = rows[i];
      k.start_ns = free_ns_[s] + static_cast<int64_t>(logNormal(kGapNs, 1));
      k.duration_ns = std::max<int64_t>(static_cast<int64_t>(duration), 800);
      free_ns_[s] = k.start_ns + k.duration_ns;
      k.name = names_[step.name];
      k.shape_id = step.shape;
      k.stream_id = idAt<StreamId>(s);
      HostCallRow& h = launches[i];
      h.start_ns = k.start_ns - 5'000 - static_cast<int64_t>(below(kLeadNs));
      h.duration_ns = 3'000 + static_cast<int64_t>(below(kLaunchNs));
      h.name = api_;
      h.kind = CallKind::kLaunch;
      h.stream_id = k.stream_id;
      k.process_id = h.process_id = ProcessId{1};
      k.thread_id = h.thread_id = idAt<ThreadId>(s / 2);
    }
    std::vector<size_t> order(kernels);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return launches[a].start_ns < launches[b].start_ns; });
    for (size_t i : order) {
      rows[i].correlation_id = launches[i].correlation_id = correlation_ += 1 + below(3);
      trace_.host_call.push(launches[i]);
    }
    std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
      return a.start_ns + a.duration_ns < b.start_ns + b.duration_ns;
    });
    for (const KernelRow& row : rows) trace_.kernel.push(row);
  }

  /// The entropy of the rows in trace(). Durations and gaps use the formulas of their distributions
  /// (log-normal: log2(median * sigma * sqrt(2 pi e)), Cover and Thomas, table 17.1), in whole
  /// nanoseconds; shapes and correlation ids are counted. The stream costs nothing: the order of
  /// the ends determines it.
  ColumnEntropy entropy() const {
    const double kNormal = 0.5 * std::log2(2 * 3.141592653589793 * 2.718281828459045);
    ColumnEntropy e{};
    e.gap = std::log2(kGapNs) + kNormal;
    e.launch_lead = std::log2(static_cast<double>(kLeadNs));
    e.launch_duration = std::log2(static_cast<double>(kLaunchNs));
    std::map<ShapeId, uint64_t> shapes;
    std::map<uint64_t, uint64_t> steps;
    std::array<uint64_t, kStreams> last{};
    double in_loop = 0;
    for (size_t i = 0; i < trace_.kernel.size(); ++i) {
      ++shapes[trace_.kernel.shape_id[i]];
      uint64_t& before = last[indexOf(trace_.kernel.stream_id[i])];
      ++steps[trace_.kernel.correlation_id[i] - before];
      before = trace_.kernel.correlation_id[i];
      const auto name = static_cast<size_t>(
          std::find(names_.begin(), names_.end(), trace_.kernel.name[i]) - names_.begin());
      in_loop += std::log2(kLoopSpread * median_ns_[name]) + kNormal;
    }
    e.correlation = counted(steps);
    if (model_ == TraceModel::kIndependent) {
      e.duration = std::log2(kDurationNs) + kNormal;
      e.shape_and_name = counted(shapes);
    } else {
      e.duration = in_loop / static_cast<double>(trace_.kernel.size());
      e.shape_and_name = 0;  // given the sequence
    }
    return e;
  }

 private:
  static constexpr size_t kNames = 200, kStreams = 8, kLoop = 1500;
  static constexpr double kDurationNs = 8'000, kGapNs = 1'000, kLoopSpread = 0.03;
  static constexpr uint64_t kLeadNs = 45'000, kLaunchNs = 2'000;

  struct Step {
    size_t name;
    ShapeId shape;
  };

  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  uint64_t below(uint64_t n) { return random_() % n; }
  double normal() {  // Box-Muller method
    return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
  }
  double logNormal(double median, double sigma) { return median * std::exp(sigma * normal()); }
  Step drawShape() {
    const auto name = static_cast<size_t>(
        std::lower_bound(shares_.begin(), shares_.end(), uniform() * shares_.back()) -
        shares_.begin());
    return {name, shapes_[name][below(shapes_[name].size())]};
  }
  template <class Counts>
  static double counted(const Counts& counts) {
    double sum = 0, bits = 0;
    for (const auto& [value, n] : counts) sum += static_cast<double>(n);
    for (const auto& [value, n] : counts) {
      bits -= static_cast<double>(n) / sum * std::log2(static_cast<double>(n) / sum);
    }
    return bits;
  }

  TraceModel model_;
  std::mt19937_64 random_{20261121};
  Trace trace_;
  StringId api_{};
  std::vector<StringId> names_;
  std::array<std::vector<ShapeId>, kNames> shapes_;
  std::array<double, kNames> shares_{}, median_ns_{};
  std::array<int64_t, kStreams> free_ns_{};
  std::array<std::array<Step, kLoop>, kStreams> loop_{};
  std::array<size_t, kStreams> at_{};
  uint64_t correlation_ = 0;
};

}  // namespace tracesmith::bench
