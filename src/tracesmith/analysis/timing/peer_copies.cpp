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

std::vector<PeerCopies> peerCopies(const Trace& trace) {
  std::map<std::pair<DeviceId, DeviceId>, PeerCopies> by_devices;
  const CopyTable& t = trace.copy;
  for (size_t i = 0; i < t.size(); ++i) {
    const DeviceId from = t.source_device_id[i], to = t.destination_device_id[i];
    const bool is_timed = (t.flags[i] & op_flags::kNoDeviceTime) == 0;
    if (from == to || !is_timed || isWithHost(t.kind[i])) continue;
    if (!isDevice(trace, from) || !isDevice(trace, to)) continue;
    PeerCopies& copies = by_devices[{from, to}];
    ++copies.count;
    copies.total_ns += t.duration_ns[i];
    copies.bytes += t.bytes[i];
  }
  std::vector<PeerCopies> all;
  if (by_devices.empty()) return all;
  const auto topology = topology::topologyOf(trace);
  std::optional<topology::Routes> routes;
  if (topology) routes.emplace(*topology);
  for (auto& [devices, copies] : by_devices) {
    std::tie(copies.source, copies.destination) = devices;
    if (routes) {
      const auto from = nodeOf(trace, *topology, copies.source);
      const auto to = nodeOf(trace, *topology, copies.destination);
      if (from && to) copies.route = routes->between(*from, *to);
    }
    all.push_back(std::move(copies));
  }
  return all;
}

}  // namespace tracesmith
