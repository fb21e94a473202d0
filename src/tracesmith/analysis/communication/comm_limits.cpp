// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_limits.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "tracesmith/model/ranks/ranks.hpp"
#include "tracesmith/topology/topology_rows.hpp"

namespace tracesmith {
namespace {

/// The part of a merged trace that says how one rank's host is connected; else the whole.
Trace topologyRows(const Trace& trace, RankId rank) {
  Trace rows;
  rows.strings = trace.strings;
  rows.metadata = trace.metadata;
  rows.topology_node = trace.topology_node;
  rows.topology_link = trace.topology_link;
  if (!isMerged(trace)) return rows;
  rows.rank = trace.rank;
  return partOfRank(rows, rank);
}

std::string_view clockOf(const Trace& trace, RankId rank) {
  if (rank == RankId::kNone || indexOf(rank) >= trace.rank.size()) return {};
  return trace.metadataValue(rankMetadataPrefix(trace.rank.number[indexOf(rank)]) + "clock_id");
}

/// The topology of one host, with its GPUs by address.
class Host {
 public:
  Host(const Trace& trace, RankId rank) {
    if (auto found = topology::topologyOf(topologyRows(trace, rank))) {
      topology_ = std::move(*found);
      routes_.emplace(*topology_);
    }
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::optional<topology::NodeIndex> gpuAt(std::string_view address) const {
    const auto pci = topology::pciAddress(address);
    return topology_ && pci ? topology_->at(*pci) : std::nullopt;
  }
  const std::optional<topology::Routes>& routes() const { return routes_; }

 private:
  std::optional<topology::Topology> topology_;
  std::optional<topology::Routes> routes_;
};

/// The GPUs of a communicator all of whose ranks are on one host.
struct Members {
  RankId rank{};  // one of them
  std::vector<std::string_view> addresses;
};

std::optional<Members> membersOf(const Trace& trace, const JobCommunicators& communicators,
                                 uint32_t index, const std::vector<DeviceId>& devices) {
  const JobCommunicator& each = communicators.all[index];
  if (!each.isWhole() || each.members < 2) return std::nullopt;
  Members out;
  for (uint32_t i = 0; i < each.members; ++i) {
    const uint32_t member = each.first_member + i;
    const RankId rank = communicators.ranks()[communicators.members[member].who].rank_id;
    if (i == 0) out.rank = rank;
    const bool is_here =
        rank == out.rank || each.nodes == 1 ||
        (!clockOf(trace, rank).empty() && clockOf(trace, rank) == clockOf(trace, out.rank));
    const DeviceId device = devices[member];
    if (!is_here || device == DeviceId::kNone || indexOf(device) >= trace.device.size()) {
      return std::nullopt;
    }
    out.addresses.push_back(trace.text(trace.device.pci_address[indexOf(device)]));
  }
  return out;
}

struct Sum {
  double direct = 0, switched = 0, tree = 0;
  void add(const topology::Path& path) {
    if (path.path_class == topology::PathClass::kDirect && !path.is_switched) direct += path.gbps;
    if (path.path_class == topology::PathClass::kDirect && path.is_switched) {
      switched = std::max(switched, path.gbps);
    }
    if (path.path_class != topology::PathClass::kDirect) tree = std::max(tree, path.gbps);
  }
  double all() const { return direct + switched + tree; }
};

}  // namespace

std::vector<GpuRates> gpuRates(const topology::Routes& routes,
                               const std::vector<topology::NodeIndex>& gpus) {
  std::vector<GpuRates> rates;
  for (const topology::NodeIndex gpu : gpus) {
    Sum out, in;
    bool is_switched = true;
    for (const topology::NodeIndex other : gpus) {
      if (other == gpu) continue;
      const topology::Path there = routes.between(gpu, other), back = routes.between(other, gpu);
      if (there.gbps <= 0 || back.gbps <= 0) return {};
      is_switched = is_switched && there.is_switched && back.is_switched;
      out.add(there);
      in.add(back);
    }
    rates.push_back({out.all(), in.all(), is_switched});
  }
  return rates;
}

std::optional<double> highestBusBandwidth(CollectiveOp op, const std::vector<GpuRates>& rates) {
  if (rates.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(rates.size());
  double least_out = std::numeric_limits<double>::infinity(), least_in = least_out, sum_out = 0;
  double most_out = 0, most_in = 0;
  bool is_switched = true;
  for (const GpuRates& gpu : rates) {
    least_out = std::min(least_out, gpu.out_gbps);
    least_in = std::min(least_in, gpu.in_gbps);
    most_out = std::max(most_out, gpu.out_gbps);
    most_in = std::max(most_in, gpu.in_gbps);
    sum_out += gpu.out_gbps;
    is_switched = is_switched && gpu.is_switched;
  }
  constexpr double kGiga = 1e9;
  switch (op) {
    case CollectiveOp::kAllReduce: {
      const double slowest = 2 * (n - 1) / n * std::min(least_out, least_in);
      return kGiga * (is_switched ? slowest : std::min(slowest, sum_out / n));
    }
    case CollectiveOp::kAllGather:
      return kGiga * least_in;
    case CollectiveOp::kReduceScatter:
      return kGiga * least_out;
    case CollectiveOp::kAllToAll:
      return kGiga * std::min(least_in, least_out);
    // Which GPU is the root can differ from call to call.
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kScatter:
    case CollectiveOp::kSend:
      return kGiga * most_out;
    case CollectiveOp::kReduce:
    case CollectiveOp::kGather:
    case CollectiveOp::kRecv:
      return kGiga * most_in;
    default:
      return std::nullopt;
  }
}

CommLimits::CommLimits(const Trace& trace, const std::vector<CommOperation>& operations,
                       const JobCommunicators& communicators) {
  if (trace.topology_node.empty()) return;
  std::vector<DeviceId> devices(communicators.members.size());
  for (const CommOperation& operation : operations) {
    if (operation.member != CommOperation::kNone && operation.device != DeviceId::kNone) {
      devices[operation.member] = operation.device;
    }
  }
  std::map<std::pair<std::string_view, RankId>, Host> hosts;  // by clock, else by rank
  for (uint32_t i = 0; i < communicators.all.size(); ++i) {
    const std::optional<Members> of = membersOf(trace, communicators, i, devices);
    if (!of) continue;
    const std::string_view clock = clockOf(trace, of->rank);
    const std::pair key(clock, clock.empty() ? of->rank : RankId::kNone);
    const Host& host = hosts.try_emplace(key, trace, of->rank).first->second;
    if (!host.routes()) continue;
    std::vector<topology::NodeIndex> gpus;
    for (const std::string_view address : of->addresses) {
      const auto gpu = host.gpuAt(address);
      if (!gpu || std::find(gpus.begin(), gpus.end(), *gpu) != gpus.end()) break;
      gpus.push_back(*gpu);
    }
    if (gpus.size() != of->addresses.size()) continue;
    std::vector<GpuRates> rates = gpuRates(*host.routes(), gpus);
    if (!rates.empty()) rates_.emplace(i, std::move(rates));
  }
}

std::optional<double> CommLimits::of(uint32_t communicator, CollectiveOp op) const {
  const auto found = rates_.find(communicator);
  return found == rates_.end() ? std::nullopt : highestBusBandwidth(op, found->second);
}

}  // namespace tracesmith
