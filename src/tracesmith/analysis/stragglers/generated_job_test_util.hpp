// SPDX-License-Identifier: Apache-2.0
// Makes traces of training jobs on paper: data, tensor and pipeline parallel, with the noise of
// real kernels and hosts, and with one fault. The ranks' clocks are not compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/stragglers/job_noise_test_util.hpp"
#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::test {

enum class JobFault { kNone, kSlowGpu, kSlowNic, kPauses, kImbalance };

struct JobPlan {
  uint32_t data = 4, tensor = 2, pipeline = 2;
  uint32_t ranks_per_host = 8;
  uint32_t steps = 24;
  uint32_t layers = 2, microbatches = 2, kernels = 3;  ///< kernels of a layer
  JobFault fault = JobFault::kNone;
  uint32_t faulty = 0;     ///< rank
  double amount = 0;       ///< of a slow GPU: 0.1 is 10 % less speed; imbalance: 10 % more work
  uint32_t from_step = 0;  ///< the fault begins with it
  double spread = 0.01;    ///< standard deviation of the ranks' own speeds
  uint64_t seed = 1;

  uint32_t ranks() const { return data * tensor * pipeline; }
};

class GeneratedJob {
 public:
  explicit GeneratedJob(const JobPlan& plan) : plan_(plan), random_(plan.seed) {
    makeRanks();
    for (uint32_t r = 0; r < plan_.ranks(); ++r) programs_.push_back(programOf(r));
    for (step_ = 0; step_ < plan_.steps; ++step_) runStep();
  }

  Trace trace;

 private:
  struct Place {
    uint32_t stage, replica, shard;
  };
  struct Instruction {
    enum Kind { kKernel, kCollective, kSend, kReceive } kind{};
    uint32_t communicator = 0;  // index in communicators_
    uint32_t peer = 0;          // rank of the job
    double base_us = 0;         // of a kernel, or of a transfer
    uint64_t bytes = 0;
    StringId name{};
    uint32_t shape = 0;
  };
  struct Communicator {
    std::vector<uint32_t> ranks;
    std::vector<CommunicatorId> ids;  // of each
    std::map<uint32_t, uint64_t> calls;
  };
  struct RankState {
    double host_us = 0, device_us = 0;
    double speed = 1;
    int64_t clock = 0;
    size_t at = 0;  // in the program
    double arrived_us = -1;
    uint64_t collectives = 0;
  };

  Place placeOf(uint32_t rank) const {
    return {rank / (plan_.data * plan_.tensor), rank / plan_.tensor % plan_.data,
            rank % plan_.tensor};
  }
  uint32_t rankAt(uint32_t stage, uint32_t replica, uint32_t shard) const {
    return (stage * plan_.data + replica) * plan_.tensor + shard;
  }
  bool isFaulty(uint32_t rank, JobFault fault) const {
    return plan_.fault == fault && rank == plan_.faulty && step_ >= plan_.from_step;
  }

  double draw(std::span<const double> quantiles) {
    const double at =
        std::uniform_real_distribution<>(0, static_cast<double>(quantiles.size() - 1))(random_);
    const auto i = static_cast<size_t>(at);
    const double next = quantiles[std::min(i + 1, quantiles.size() - 1)];
    return quantiles[i] + (at - static_cast<double>(i)) * (next - quantiles[i]);
  }

  void makeRanks() {
    states_.resize(plan_.ranks());
    std::normal_distribution<> speeds(1, plan_.spread);
    for (uint32_t r = 0; r < plan_.ranks(); ++r) {
      states_[r].speed = speeds(random_);
      const uint32_t host = r / plan_.ranks_per_host;
      states_[r].clock = r % plan_.ranks_per_host == 0
                             ? static_cast<int64_t>(random_() % 1'000'000'000'000)
                             : states_[r - 1].clock;
      trace.rank.push({.id = idAt<RankId>(r), .number = r, .clock_rank_id = idAt<RankId>(r)});
      trace.process.push({.id = idAt<ProcessId>(r), .pid = 1000 + r, .rank_id = idAt<RankId>(r)});
      trace.thread.push(
          {.id = idAt<ThreadId>(r), .process_id = idAt<ProcessId>(r), .tid = 1000 + r});
      trace.device.push(
          {.id = idAt<DeviceId>(r), .kind = DeviceKind::kGpu, .rank_id = idAt<RankId>(r)});
      trace.stream.push({.id = idAt<StreamId>(r),
                         .process_id = idAt<ProcessId>(r),
                         .device_id = idAt<DeviceId>(r)});
      trace.setMetadata(rankMetadataPrefix(r) + "clock_id", "host " + std::to_string(host));
    }
    for (uint32_t shape = 1; shape <= 2; ++shape) {
      trace.launch_shape.push(
          {.dimensions = 1, .global_x = shape == 1 ? kWorkItems : moreItems(), .local_x = 256});
    }
    for (uint32_t s = 0; s < plan_.pipeline; ++s) {
      for (uint32_t d = 0; d < plan_.data; ++d) {
        std::vector<uint32_t> ranks;
        for (uint32_t t = 0; t < plan_.tensor; ++t) ranks.push_back(rankAt(s, d, t));
        if (plan_.tensor > 1) addCommunicator("tensor", ranks);
      }
      for (uint32_t t = 0; t < plan_.tensor; ++t) {
        std::vector<uint32_t> ranks;
        for (uint32_t d = 0; d < plan_.data; ++d) ranks.push_back(rankAt(s, d, t));
        if (plan_.data > 1) addCommunicator("data", ranks);
      }
    }
    for (uint32_t d = 0; d < plan_.data && plan_.pipeline > 1; ++d) {
      for (uint32_t t = 0; t < plan_.tensor; ++t) {
        std::vector<uint32_t> ranks;
        for (uint32_t s = 0; s < plan_.pipeline; ++s) ranks.push_back(rankAt(s, d, t));
        addCommunicator("pipeline", ranks);
      }
    }
  }
  static constexpr uint64_t kWorkItems = 1 << 20;
  uint64_t moreItems() const {
    return static_cast<uint64_t>(static_cast<double>(kWorkItems) * (1 + plan_.amount));
  }

  void addCommunicator(const std::string& name, const std::vector<uint32_t>& ranks) {
    Communicator c{ranks, {}, {}};
    for (size_t i = 0; i < ranks.size(); ++i) {
      c.ids.push_back(idAt<CommunicatorId>(trace.communicator.size()));
      trace.communicator.push({.id = c.ids.back(),
                               .process_id = idAt<ProcessId>(ranks[i]),
                               .name = trace.strings.intern(name),
                               .key = 100 + communicators_.size(),
                               .ranks = static_cast<uint32_t>(ranks.size()),
                               .rank = static_cast<int64_t>(i),
                               .library = trace.strings.intern("NCCL")});
      of_rank_[{name, ranks[i]}] = static_cast<uint32_t>(communicators_.size());
    }
    communicators_.push_back(c);
  }

  std::vector<Instruction> programOf(uint32_t rank) {
    const Place p = placeOf(rank);
    std::vector<Instruction> program;
    const auto kernels = [&](const std::string& phase, double base_us) {
      for (uint32_t k = 0; k < plan_.kernels; ++k) {
        program.push_back({.kind = Instruction::kKernel,
                           .base_us = base_us * (1 + 0.5 * k),
                           .name = trace.strings.intern("gemm_" + phase + std::to_string(k))});
      }
    };
    const auto layers = [&](const std::string& phase, double base_us) {
      for (uint32_t l = 0; l < plan_.layers; ++l) {
        kernels(phase, base_us);
        if (plan_.tensor > 1) {
          program.push_back({.kind = Instruction::kCollective,
                             .communicator = of_rank_.at({"tensor", rank}),
                             .base_us = 60,
                             .bytes = 1 << 20});
        }
      }
    };
    const auto message = [&](Instruction::Kind kind, uint32_t stage, uint64_t bytes) {
      program.push_back({.kind = kind,
                         .communicator = of_rank_.at({"pipeline", rank}),
                         .peer = rankAt(stage, p.replica, p.shard),
                         .base_us = 120,
                         .bytes = bytes});
    };
    for (uint32_t m = 0; m < plan_.microbatches; ++m) {
      if (p.stage > 0) message(Instruction::kReceive, p.stage - 1, 1 << 21);
      layers("forward", 150);
      if (p.stage + 1 < plan_.pipeline) message(Instruction::kSend, p.stage + 1, 1 << 21);
    }
    for (uint32_t m = 0; m < plan_.microbatches; ++m) {
      if (p.stage + 1 < plan_.pipeline) message(Instruction::kReceive, p.stage + 1, (1 << 21) + 64);
      layers("backward", 300);
      if (p.stage > 0) message(Instruction::kSend, p.stage - 1, (1 << 21) + 64);
    }
    if (plan_.data > 1) {
      program.push_back({.kind = Instruction::kCollective,
                         .communicator = of_rank_.at({"data", rank}),
                         .base_us = 800,
                         .bytes = 64 << 20});
    }
    kernels("optimizer", 80);
    return program;
  }

  /// All ranks, each until it needs one that has not come yet.
  void runStep() {
    for (RankState& s : states_) {
      s.at = 0;
      s.host_us = std::max(s.host_us, s.device_us);  // the loss is read
    }
    for (uint32_t r = 0; r < states_.size(); ++r) {
      if (isFaulty(r, JobFault::kPauses) && std::uniform_real_distribution<>()(random_) < 0.3) {
        states_[r].host_us +=
            plan_.amount * std::uniform_real_distribution<>(0.5, 1.5)(random_) * 10'000;
      }
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t r = 0; r < states_.size(); ++r) moved = advance(r) || moved;
    }
  }

  bool advance(uint32_t rank) {
    bool moved = false;
    RankState& s = states_[rank];
    while (s.at < programs_[rank].size()) {
      const Instruction& i = programs_[rank][s.at];
      if (i.kind == Instruction::kKernel) {
        runKernel(rank, i);
        ++s.at;
        moved = true;
        continue;
      }
      if (s.arrived_us < 0) {
        launch(s);
        s.arrived_us = std::max(s.device_us, s.host_us + 5);
        moved = true;
      }
      if (!meet(rank, i)) return moved;
      moved = true;
    }
    return moved;
  }

  void launch(RankState& s) { s.host_us += draw(kLaunchGapsUs); }

  void runKernel(uint32_t rank, const Instruction& i) {
    RankState& s = states_[rank];
    launch(s);
    const bool has_more = isFaulty(rank, JobFault::kImbalance);
    double duration = i.base_us * draw(kKernelRatios) / s.speed;
    if (isFaulty(rank, JobFault::kSlowGpu)) duration /= 1 - plan_.amount;
    if (has_more) duration *= 1 + plan_.amount;
    const double start = std::max(s.device_us, s.host_us + 5);
    s.device_us = start + duration;
    trace.kernel.push({.start_ns = at(s, start),
                       .duration_ns = static_cast<int64_t>(duration * 1000),
                       .name = i.name,
                       .process_id = idAt<ProcessId>(rank),
                       .thread_id = idAt<ThreadId>(rank),
                       .stream_id = idAt<StreamId>(rank),
                       .correlation_id = ++last_id_,
                       .shape_id = has_more ? ShapeId{2} : ShapeId{1}});
  }

  static int64_t at(const RankState& s, double us) {
    return s.clock + static_cast<int64_t>(us * 1000);
  }

  /// Whether all that take part have come; then they leave together.
  bool meet(uint32_t rank, const Instruction& i) {
    std::vector<uint32_t> members{rank, i.peer};
    if (i.kind == Instruction::kCollective) members = communicators_[i.communicator].ranks;
    double last = 0;
    bool crosses = false, is_slow = false;
    for (const uint32_t m : members) {
      if (!isThere(m, rank, i)) return false;
      last = std::max(last, states_[m].arrived_us);
      crosses = crosses || m / plan_.ranks_per_host != rank / plan_.ranks_per_host;
      is_slow = is_slow || isFaulty(m, JobFault::kSlowNic);
    }
    double transfer = i.base_us * (crosses ? 2 : 1) * std::normal_distribution<>(1, 0.03)(random_);
    if (crosses && is_slow) transfer /= 1 - plan_.amount;
    const double end = last + std::max(1.0, transfer);
    for (const uint32_t m : members) leave(m, end);
    return true;
  }

  bool isThere(uint32_t member, uint32_t rank, const Instruction& i) const {
    const RankState& s = states_[member];
    if (member == rank) return true;
    if (s.arrived_us < 0 || s.at >= programs_[member].size()) return false;
    const Instruction& other = programs_[member][s.at];
    if (i.kind == Instruction::kCollective) {
      return other.kind == i.kind && other.communicator == i.communicator;
    }
    return other.kind != i.kind && other.kind != Instruction::kCollective && other.peer == rank &&
           other.bytes == i.bytes;
  }

  void leave(uint32_t rank, double end) {
    RankState& s = states_[rank];
    const Instruction& i = programs_[rank][s.at];
    Communicator& c = communicators_[i.communicator];
    const auto place = [&](uint32_t r) {
      return std::find(c.ranks.begin(), c.ranks.end(), r) - c.ranks.begin();
    };
    const bool is_collective = i.kind == Instruction::kCollective;
    const bool sends = i.kind == Instruction::kSend;
    CommRow row{.start_ns = at(s, s.arrived_us) - 20'000,
                .duration_ns = 10'000,
                .function = trace.strings.intern(is_collective ? "ncclAllReduce"
                                                 : sends       ? "ncclSend"
                                                               : "ncclRecv"),
                .process_id = idAt<ProcessId>(rank),
                .thread_id = idAt<ThreadId>(rank),
                .communicator_id = c.ids[static_cast<size_t>(place(rank))],
                .kind = is_collective ? CommKind::kCollective
                        : sends       ? CommKind::kSend
                                      : CommKind::kReceive,
                .sequence = is_collective ? ++c.calls[rank] : 0,
                .peer = is_collective ? -1 : place(i.peer),
                .tag = -1,
                .send_bytes = is_collective || sends ? i.bytes : 0,
                .receive_bytes = is_collective || !sends ? i.bytes : 0,
                .correlation_id = ++last_id_};
    trace.comm.push(row);
    trace.comm_work.push({.start_ns = at(s, s.arrived_us),
                          .duration_ns = static_cast<int64_t>((end - s.arrived_us) * 1000),
                          .process_id = row.process_id,
                          .correlation_id = row.correlation_id,
                          .kind = CommWorkKind::kOperation,
                          .timing_source = TimingSource::kDevice,
                          .peer = -1});
    s.device_us = end;
    s.arrived_us = -1;
    ++s.at;
  }

  JobPlan plan_;
  std::mt19937_64 random_;
  std::vector<RankState> states_;
  std::vector<Communicator> communicators_;
  std::map<std::pair<std::string, uint32_t>, uint32_t> of_rank_;
  std::vector<std::vector<Instruction>> programs_;
  uint32_t step_ = 0;
  uint64_t last_id_ = 0;
};

}  // namespace tracesmith::test
