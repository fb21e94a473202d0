// SPDX-License-Identifier: Apache-2.0
// Validation split: the second half of the iterations gets the host times, waits and durations of
// the first half, matched by kind and by position within the iteration. Calls and operations stay
// as in the graph. Then everything is emulated, and the durations of the iterations are compared.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "tracesmith/analysis/timing/steps.hpp"
#include "tracesmith/emulate/emulator_check.hpp"
#include "tracesmith/emulate/host_context.hpp"
#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith {
namespace {

/// Measurements per iteration and key: durations of a kernel, gaps between two calls.
class Measured {
 public:
  void add(uint32_t iteration, uint64_t key, double value) {
    auto& iterations = of_[key];
    if (iterations.empty() || iterations.back().number != iteration) {
      iterations.push_back({iteration, {}});
    }
    iterations.back().values.push_back(value);
  }
  /// Needed because the steps of several threads are added one thread after the other.
  void sort() {
    for (auto& [key, iterations] : of_) {
      std::stable_sort(iterations.begin(), iterations.end(),
                       [](const Of& a, const Of& b) { return a.number < b.number; });
      size_t kept = 0;
      for (size_t i = 1; i < iterations.size(); ++i) {
        if (iterations[i].number == iterations[kept].number) {
          auto& values = iterations[kept].values;
          values.insert(values.end(), iterations[i].values.begin(), iterations[i].values.end());
        } else if (++kept != i) {
          iterations[kept] = std::move(iterations[i]);
        }
      }
      iterations.resize(kept + 1);
    }
  }
  /// The mean of the `n`th value in the last iterations that have that many; otherwise the mean of
  /// all their values.
  bool guess(uint64_t key, size_t n, double& out) const {
    const auto it = of_.find(key);
    if (it == of_.end()) return false;
    const std::vector<Of>& all = it->second;
    double sum = 0;
    double whole = 0;
    size_t count = 0;
    size_t values = 0;
    for (size_t i = all.size() > kMost ? all.size() - kMost : 0; i < all.size(); ++i) {
      const Of& of = all[i];
      if (n < of.values.size()) {
        sum += of.values[n];
        ++count;
      } else if (count == 0 && values < kMostValues) {
        for (const double value : of.values) whole += value;
        values += of.values.size();
      }
    }
    if (count == 0 && values == 0) return false;
    out = count > 0 ? sum / static_cast<double>(count) : whole / static_cast<double>(values);
    return true;
  }

 private:
  static constexpr size_t kMost = 16;
  static constexpr size_t kMostValues = 4096;  // keeps the search linear
  struct Of {
    uint32_t number;
    std::vector<double> values;
  };
  std::unordered_map<uint64_t, std::vector<Of>> of_;
};

class Predictor {
 public:
  Predictor(const Trace& trace, const EmulatorGraph& graph)
      : trace_(trace), graph_(graph), context_(trace, graph) {}

  Result<Validation> run() {
    findWindows();
    if (windows_.size() < 2) {
      out_.why_not = "fewer than two iterations that start with a host call: " + out_.basis;
      return std::move(out_);
    }
    known_ = static_cast<uint32_t>(windows_.size() / 2);
    out_.known = known_;
    findWorkers();
    EmulatorGraph guess = graph_;
    exchange(guess);
    TS_TRY(const Emulation emulation, emulate(guess));
    compare(emulation);
    return std::move(out_);
  }

 private:
  struct Window {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    std::string name;
  };

  void findWindows() {
    const DeviceOps ops = DeviceOps::of(trace_);
    const Steps steps = stepsOf(trace_, ops);
    out_.basis = steps.basis();
    if (!steps.all.empty()) process_ = steps.all.front().process;
    std::unordered_map<int64_t, int64_t> launched;  // start of device work to start of its launch
    if (steps.device_times) {
      for (const DeviceOp& op : ops.ops) {
        if (op.launch != DeviceOp::kNone) {
          launched.try_emplace(op.begin_ns, ops.calls.beginNs(op.launch));
        }
      }
    }
    // Uses the steps of one process: others run the same steps at the same time, or none.
    for (const Step& step : steps.all) {
      if (step.process != process_) continue;
      int64_t begin = step.begin_ns;
      if (steps.device_times) {
        const auto it = launched.find(begin);
        if (it == launched.end()) continue;
        begin = it->second;
      }
      if (!windows_.empty() && begin <= windows_.back().begin_ns) continue;
      const int64_t end = steps.device_times ? INT64_MAX : step.end_ns;
      // From one start to the next, if they follow each other.
      if (!windows_.empty()) {
        Window& before = windows_.back();
        const int64_t length = before.end_ns - before.begin_ns;
        if (before.end_ns > begin || begin - before.end_ns < length / 20) before.end_ns = begin;
      }
      windows_.push_back({begin, end, std::string(step.nameIn(trace_))});
    }
    if (steps.device_times && !windows_.empty()) windows_.pop_back();  // its end is unknown
  }

  uint32_t windowOf(int64_t time) const {
    const auto after = std::upper_bound(windows_.begin(), windows_.end(), time,
                                        [](int64_t t, const Window& w) { return t < w.begin_ns; });
    if (after == windows_.begin()) return EmulatedOp::kNone;
    const auto window = std::prev(after);
    return time < window->end_ns ? static_cast<uint32_t>(window - windows_.begin())
                                 : EmulatedOp::kNone;
  }
  uint32_t windowOfOp(uint32_t i) const {
    const uint32_t call = graph_.ops[i].launch;
    return call == EmulatedOp::kNone ? EmulatedOp::kNone
                                     : windowOf(trace_.host_call.start_ns[call]);
  }

  /// A thread resembles itself across iterations, but not other threads.
  uint64_t threadOf(uint32_t step) const {
    return static_cast<uint64_t>(trace_.host_call.thread_id[graph_.steps[step].call]);
  }
  uint64_t opKey(uint32_t i) const {
    const EmulatedOp& op = graph_.ops[i];
    uint64_t detail = 0;
    if (op.table == TableId::kKernel) {
      detail = static_cast<uint64_t>(trace_.kernel.shape_id[op.row]);
    } else if (op.table == TableId::kCopy) {
      detail = trace_.copy.bytes[op.row] << 4 | static_cast<uint64_t>(trace_.copy.kind[op.row]);
    }
    return TypicalCosts::key(static_cast<uint64_t>(op.name) << 8 | static_cast<uint64_t>(op.table),
                             detail, op.device + 1);
  }
  uint64_t coarseOpKey(uint32_t i) const {
    const EmulatedOp& op = graph_.ops[i];
    return TypicalCosts::key(77, static_cast<uint64_t>(op.name), static_cast<uint64_t>(op.table));
  }

  /// Calls f(iteration, key, coarser key, value) for all measured values, in thread order or time
  /// order.
  template <class F>
  void forEachValue(EmulatorGraph& graph, F&& f) {
    for (uint32_t i = 1; i < graph.steps.size(); ++i) {
      if (graph.steps[i].first || !workers_.contains(threadOf(i))) continue;
      const uint32_t window = windowOf(graph.steps[i].recorded_ns);
      if (window == EmulatedOp::kNone) continue;
      double own = static_cast<double>(graph.steps[i].own_ns);
      f(window, TypicalCosts::key(1, context_.own(i), threadOf(i)),
        TypicalCosts::key(2, context_.ownByCalls(i)), own);
      graph.steps[i].own_ns = std::llround(own);
    }
    for (EmulatedEdge& edge : graph.edges) {
      if (graph.isOp(edge.to) || !workers_.contains(threadOf(edge.to))) continue;
      const uint32_t window = windowOf(graph.steps[edge.to].recorded_ns);
      if (window == EmulatedOp::kNone) continue;
      double offset = static_cast<double>(edge.offset_ns);
      f(window, TypicalCosts::key(3, context_.wait(edge), threadOf(edge.to)),
        TypicalCosts::key(4, context_.waitByCall(edge)), offset);
      edge.offset_ns = std::llround(offset);
    }
    for (uint32_t i = 0; i < graph.ops.size(); ++i) {
      const uint32_t window = windowOfOp(i);
      if (window == EmulatedOp::kNone) continue;
      EmulatedOp& op = graph.ops[i];
      f(window, TypicalCosts::key(5, opKey(i)), TypicalCosts::key(6, coarseOpKey(i)), op.work_ns);
      double late = static_cast<double>(op.unexplained_ns);
      f(window, TypicalCosts::key(7, opKey(i)), TypicalCosts::key(8, coarseOpKey(i)), late);
      op.unexplained_ns = std::llround(late);
    }
  }

  void exchange(EmulatorGraph& guess) {
    Measured measured;
    EmulatorGraph recorded = graph_;
    forEachValue(recorded, [&](uint32_t window, uint64_t key, uint64_t coarse, double& value) {
      if (window >= known_) return;
      measured.add(window, key, value);
      measured.add(window, coarse, value);
    });
    measured.sort();
    std::unordered_map<uint64_t, size_t> counts;  // values of this key in this iteration
    forEachValue(guess, [&](uint32_t window, uint64_t key, uint64_t coarse, double& value) {
      if (window < known_) return;
      ++out_.values;
      const size_t n = counts[TypicalCosts::key(key, window)]++;
      double found = 0;
      if (!measured.guess(key, n, found)) {
        ++out_.unseen;
        measured.guess(coarse, SIZE_MAX, found);
      }
      value = found;
    });
  }

  /// Finds threads that launch at least a tenth of the iterations' work; others may be onlookers.
  void findWorkers() {
    std::map<uint64_t, uint64_t> launches;
    uint64_t all = 0;
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const uint32_t call = graph_.ops[i].launch;
      if (windowOfOp(i) == EmulatedOp::kNone) continue;
      ++launches[static_cast<uint64_t>(trace_.host_call.thread_id[call])];
      ++all;
    }
    for (const auto& [thread, count] : launches) {
      if (10 * count >= all) workers_.insert(thread);
    }
  }

  void compare(const Emulation& emulation) {
    // An iteration lasts from its first call to the first call of the next one, or to the last end
    // of its work. Counts calls of threads that work on it.
    struct Ends {
      uint32_t first = EmulatedOp::kNone;  // first step
      int64_t last_recorded = INT64_MIN;
      int64_t last_predicted = INT64_MIN;
    };
    std::vector<Ends> ends(windows_.size());
    for (uint32_t i = 0; i < graph_.steps.size(); ++i) {
      if (!workers_.contains(threadOf(i)) ||
          trace_.host_call.process_id[graph_.steps[i].call] != process_) {
        continue;
      }
      const uint32_t w = windowOf(graph_.steps[i].recorded_ns);
      if (w == EmulatedOp::kNone) continue;
      if (ends[w].first == EmulatedOp::kNone ||
          graph_.steps[i].recorded_ns < graph_.steps[ends[w].first].recorded_ns) {
        ends[w].first = i;
      }
      ends[w].last_recorded = std::max(ends[w].last_recorded, graph_.steps[i].recorded_ns);
      ends[w].last_predicted = std::max(ends[w].last_predicted, emulation.end_ns[i]);
    }
    std::vector<int64_t> errors;
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const uint32_t w =
          processOf(trace_, graph_.ops[i]) == process_ ? windowOfOp(i) : EmulatedOp::kNone;
      if (w == EmulatedOp::kNone || ends[w].first == EmulatedOp::kNone) continue;
      const int64_t recorded = graph_.ops[i].end_ns;
      const int64_t predicted = emulation.end_ns[graph_.nodeOf(i)];
      ends[w].last_recorded = std::max(ends[w].last_recorded, recorded);
      ends[w].last_predicted = std::max(ends[w].last_predicted, predicted);
      if (w < known_) continue;
      const int64_t begin = graph_.steps[ends[w].first].recorded_ns;
      errors.push_back(
          std::abs((predicted - emulation.end_ns[ends[w].first]) - (recorded - begin)));
    }
    for (uint32_t w = 0; w < windows_.size(); ++w) {
      if (ends[w].first == EmulatedOp::kNone) continue;
      const bool next = w + 1 < windows_.size() && ends[w + 1].first != EmulatedOp::kNone &&
                        windows_[w + 1].begin_ns == windows_[w].end_ns;
      const int64_t begin = graph_.steps[ends[w].first].recorded_ns;
      const int64_t begun = emulation.end_ns[ends[w].first];
      const int64_t recorded =
          next ? graph_.steps[ends[w + 1].first].recorded_ns : ends[w].last_recorded;
      const int64_t predicted = next ? emulation.end_ns[ends[w + 1].first] : ends[w].last_predicted;
      if (w < known_) {
        known_ns_ += static_cast<double>(recorded - begin) / known_;
      } else {
        out_.iterations.push_back({windows_[w].name, recorded - begin, predicted - begun});
      }
    }
    for (const Validation::Iteration& it : out_.iterations) {
      const auto recorded = static_cast<double>(std::max<int64_t>(it.recorded_ns, 1));
      out_.spread +=
          std::abs(known_ns_ - recorded) / recorded / static_cast<double>(out_.iterations.size());
    }
    if (out_.iterations.empty()) out_.why_not = "no iteration has calls of its own";
    out_.ops = errors.size();
    if (errors.empty()) return;
    std::sort(errors.begin(), errors.end());
    out_.end_p50_ns = errors[errors.size() / 2];
    out_.end_p95_ns = errors[errors.size() * 95 / 100];
  }

  const Trace& trace_;
  const EmulatorGraph& graph_;
  const HostContext context_;
  double known_ns_ = 0;  // mean duration of the known iterations
  uint32_t known_ = 0;   // iterations [0, known_) are used for calibration
  std::set<uint64_t> workers_;
  ProcessId process_{};  // process with the iterations
  std::vector<Window> windows_;
  Validation out_;
};

}  // namespace

double Validation::meanError() const {
  double sum = 0;
  for (const Iteration& iteration : iterations) sum += std::abs(iteration.error());
  return iterations.empty() ? 0 : sum / static_cast<double>(iterations.size());
}

double Validation::totalError() const {
  Iteration all;
  for (const Iteration& iteration : iterations) {
    all.recorded_ns += iteration.recorded_ns;
    all.predicted_ns += iteration.predicted_ns;
  }
  return all.error();
}

Result<Validation> validate(const Trace& trace, const EmulatorGraph& graph) {
  return Predictor(trace, graph).run();
}

}  // namespace tracesmith
