// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/peer_copies.hpp"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tracesmith/topology/topology_rows.hpp"

namespace tracesmith {
namespace {

bool isWithHost(CopyKind kind) {
  return kind == CopyKind::kHostToDevice || kind == CopyKind::kDeviceToHost ||
         kind == CopyKind::kHostToHost;
}

/// False also for a processor, which some tools count among the devices.
bool isDevice(const Trace& trace, DeviceId device) {
  const uint32_t row = indexOf(device);
  return device != DeviceId::kNone && row < trace.device.size() &&
         trace.device.kind[row] != DeviceKind::kCpu;
}

std::optional<topology::NodeIndex> nodeOf(const Trace& trace, const topology::Topology& topology,
                                          DeviceId device) {
  const uint32_t row = indexOf(device);
  if (row >= trace.device.size()) return std::nullopt;
  const auto address = topology::pciAddress(trace.text(trace.device.pci_address[row]));
  return address ? topology.at(*address) : std::nullopt;
}

}  // namespace

void PeerCopySums::add(const Trace& tables, const CopyTable& copies) {
  for (size_t i = 0; i < copies.size(); ++i) {
    const DeviceId from = copies.source_device_id[i], to = copies.destination_device_id[i];
    const bool is_timed = (copies.flags[i] & op_flags::kNoDeviceTime) == 0;
    if (from == to || !is_timed || isWithHost(copies.kind[i])) continue;
    if (!isDevice(tables, from) || !isDevice(tables, to)) continue;
    PeerCopies& sum = by_devices_[{from, to}];
    ++sum.count;
    sum.total_ns += copies.duration_ns[i];
    sum.bytes += copies.bytes[i];
  }
}

void PeerCopySums::add(const PeerCopySums& other) {
  for (const auto& [devices, copies] : other.by_devices_) {
    PeerCopies& sum = by_devices_[devices];
    sum.count += copies.count;
    sum.total_ns += copies.total_ns;
    sum.bytes += copies.bytes;
  }
}

std::vector<PeerCopies> PeerCopySums::all(const Trace& tables) const {
  std::vector<PeerCopies> all;
  if (by_devices_.empty()) return all;
  const auto topology = topology::topologyOf(tables);
  std::optional<topology::Routes> routes;
  if (topology) routes.emplace(*topology);
  for (const auto& [devices, sum] : by_devices_) {
    PeerCopies copies = sum;
    std::tie(copies.source, copies.destination) = devices;
    if (routes) {
      const auto from = nodeOf(tables, *topology, copies.source);
      const auto to = nodeOf(tables, *topology, copies.destination);
      if (from && to) copies.route = routes->between(*from, *to);
    }
    all.push_back(std::move(copies));
  }
  return all;
}

std::vector<PeerCopies> peerCopies(const Trace& trace) {
  PeerCopySums sums;
  sums.add(trace, trace.copy);
  return sums.all(trace);
}

}  // namespace tracesmith
