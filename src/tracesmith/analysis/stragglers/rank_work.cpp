// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/rank_work.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tracesmith {
namespace {

/// Durations of a kernel that are kept of each rank, evenly over the run.
constexpr size_t kMostSamples = 512;

struct KernelKey {
  StringId name{};
  ShapeId shape{};
  bool operator<(const KernelKey& other) const {
    return std::pair(name, shape) < std::pair(other.name, other.shape);
  }
};

/// The launches of one kernel in one rank.
struct KernelRuns {
  std::vector<int64_t> durations;  // every `stride`th
  uint64_t launches = 0;
  uint64_t stride = 1;
  int64_t total_ns = 0;

  void add(int64_t duration) {
    total_ns += duration;
    if (launches++ % stride != 0) return;
    durations.push_back(duration);
    if (durations.size() < kMostSamples) return;
    for (size_t i = 0; i < durations.size() / 2; ++i) durations[i] = durations[2 * i];
    durations.resize(durations.size() / 2);
    stride *= 2;
  }
};

uint64_t workItems(const Trace& trace, ShapeId shape) {
  const auto i = static_cast<size_t>(shape);
  if (i == 0 || i > trace.launch_shape.size()) return 0;
  const LaunchShapeRow row = trace.launch_shape.row(i - 1);
  return std::max<uint64_t>(1, row.global_x) * std::max<uint64_t>(1, row.global_y) *
         std::max<uint64_t>(1, row.global_z);
}

double weightedMedian(std::vector<std::pair<double, double>> values) {
  if (values.empty()) return 1;
  std::sort(values.begin(), values.end());
  double all = 0, sum = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2 * sum >= all) return value;
  }
  return values.back().first;
}

void addKernels(const Trace& trace, const JobTimeline& timeline, const JobSteps& steps,
                const JobCommunicators& communicators, const DeviceOps& ops,
                std::vector<RankWork>& work) {
  std::unordered_map<uint32_t, uint32_t> rank_of;  // by process
  for (uint32_t r = 0; r < timeline.ranks.size(); ++r) {
    rank_of[static_cast<uint32_t>(communicators.ranks()[timeline.ranks[r]].process)] = r;
  }
  std::vector<std::map<KernelKey, KernelRuns>> kernels(work.size());
  std::vector<double> items(work.size(), 0);
  for (const DeviceOp& op : ops.ops) {
    if (op.work != WorkClass::kCompute || op.table != TableId::kKernel) continue;
    const auto rank = rank_of.find(static_cast<uint32_t>(op.process));
    if (rank == rank_of.end()) continue;
    const ShapeId shape = trace.kernel.shape_id[op.row];
    kernels[rank->second][{op.name, shape}].add(std::max<int64_t>(0, op.end_ns - op.begin_ns));
    items[rank->second] += static_cast<double>(workItems(trace, shape));
    work[rank->second].has_device = true;
  }
  // The typical duration of a kernel, in the ranks that have it.
  std::map<KernelKey, std::vector<int64_t>> medians;
  std::vector<std::map<KernelKey, int64_t>> own(work.size());
  for (size_t r = 0; r < work.size(); ++r) {
    for (auto& [key, runs] : kernels[r]) {
      const int64_t median = lowerMedian(runs.durations);
      own[r][key] = median;
      medians[key].push_back(median);
    }
  }
  for (size_t r = 0; r < work.size(); ++r) {
    std::vector<std::pair<double, double>> ratios;
    for (const auto& [key, median] : own[r]) {
      if (medians[key].size() < 2) continue;
      const auto typical = static_cast<double>(std::max<int64_t>(1, lowerMedian(medians[key])));
      ratios.emplace_back(static_cast<double>(median) / typical,
                          static_cast<double>(kernels[r][key].total_ns));
      work[r].compared_kernels += kernels[r][key].launches;
    }
    work[r].slowness = weightedMedian(std::move(ratios));
    std::vector<double> peers;
    for (size_t other = 0; other < work.size(); ++other) {
      if (steps.role_of[other] == steps.role_of[r]) peers.push_back(items[other]);
    }
    const double typical = lowerMedian(peers);
    if (typical > 0) work[r].amount = items[r] / typical;
  }
}

/// Ranks by role.
std::vector<std::vector<uint32_t>> ranksOfRoles(const JobSteps& steps) {
  std::vector<std::vector<uint32_t>> ranks(std::max<uint32_t>(1, steps.roles));
  for (uint32_t r = 0; r < steps.role_of.size(); ++r) ranks[steps.role_of[r]].push_back(r);
  return ranks;
}

}  // namespace

double RankWork::excessOf(size_t step) const {
  const auto typical_ns = static_cast<double>(typical[step].own_ns);
  return typical_ns <= 0 ? 0 : static_cast<double>(steps[step].own_ns) / typical_ns - 1;
}

std::vector<RankWork> rankWork(const Trace& trace, const JobTimeline& timeline,
                               const JobSteps& steps, const JobCommunicators& communicators,
                               const DeviceOps& ops) {
  std::vector<RankWork> work(timeline.ranks.size());
  for (RankWork& rank : work) rank.steps.resize(steps.count);
  for (uint32_t i = 0; i < timeline.parts.size(); ++i) {
    if (steps.step_of.empty() || steps.step_of[i] == kNoPart) continue;
    StepWork& step = work[timeline.parts[i].rank].steps[steps.step_of[i]];
    step.own_ns += timeline.parts[i].own_ns;
    step.busy_ns += timeline.parts[i].busy_ns;
  }
  for (const std::vector<uint32_t>& peers : ranksOfRoles(steps)) {
    std::vector<StepWork> typical(steps.count);
    for (uint32_t s = 0; s < steps.count; ++s) {
      std::vector<int64_t> own, busy;
      for (const uint32_t r : peers) {
        own.push_back(work[r].steps[s].own_ns);
        busy.push_back(work[r].steps[s].busy_ns);
      }
      typical[s] = {lowerMedian(own), lowerMedian(busy)};
    }
    if (peers.size() == 1) {  // nobody to compare with but itself
      std::vector<int64_t> own, busy;
      for (const StepWork& step : work[peers[0]].steps) {
        own.push_back(step.own_ns);
        busy.push_back(step.busy_ns);
      }
      typical.assign(steps.count, {lowerMedian(own), lowerMedian(busy)});
    }
    for (const uint32_t r : peers) {
      work[r].typical = typical;
      work[r].peers = peers.size();
    }
  }
  addKernels(trace, timeline, steps, communicators, ops, work);
  return work;
}

std::vector<int64_t> ownTimesIfTypical(const JobTimeline& timeline, const JobSteps& steps,
                                       uint32_t rank) {
  std::vector<int64_t> own;
  own.reserve(timeline.parts.size());
  for (const RankPart& part : timeline.parts) own.push_back(part.own_ns);
  // By step and place: the own times of the ranks of this role.
  const uint32_t places = steps.places[rank];
  std::vector<std::vector<int64_t>> peers(size_t{steps.count} * places);
  for (uint32_t i = 0; i < timeline.parts.size(); ++i) {
    const uint32_t r = timeline.parts[i].rank;
    if (steps.step_of[i] == kNoPart || steps.role_of[r] != steps.role_of[rank]) continue;
    peers[size_t{steps.step_of[i]} * places + steps.place_of[i]].push_back(own[i]);
  }
  for (uint32_t i = timeline.lanes[rank].first;
       i < timeline.lanes[rank].first + timeline.lanes[rank].second; ++i) {
    if (steps.step_of[i] == kNoPart) continue;
    const auto& of_place = peers[size_t{steps.step_of[i]} * places + steps.place_of[i]];
    own[i] = std::min(own[i], lowerMedian(of_place));
  }
  return own;
}

}  // namespace tracesmith
