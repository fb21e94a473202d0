// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_volumes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "tracesmith/analysis/communication/comm_bandwidth.hpp"

namespace tracesmith {
namespace {

struct OfClass {
  StringId function{};
  uint32_t communicator = 0;
  uint32_t size_class = 0;  // 1 + the logarithm of its bytes; 0: none
  uint32_t index = 0;

  auto place() const { return std::tuple(function, communicator, size_class); }
};

CommVolume volumeOf(const std::vector<CommOperation>& operations, uint64_t ranks,
                    const OfClass* first, const OfClass* last) {
  const CommOperation& any = operations[first->index];
  CommVolume volume{
      .function = first->function,
      .communicator = first->communicator,
      .op = any.op,
      .from_bytes = first->size_class == 0 ? 0 : uint64_t{1} << (first->size_class - 1),
      .calls = static_cast<uint64_t>(last - first)};
  const std::optional<double> factor = busFactor(any.op, ranks);
  std::vector<double> times;
  uint64_t timed_bytes = 0;
  double best = 0;
  for (const OfClass* of = first; of != last; ++of) {
    const CommOperation& operation = operations[of->index];
    volume.bytes += operation.bytes;
    if (!operation.hasOwnTime()) continue;
    const int64_t ns = lengthOf(operation.begin_ns, operation.end_ns);
    times.push_back(static_cast<double>(ns));
    timed_bytes += operation.bytes;
    best = std::max(best, algorithmBandwidth(operation.bytes, ns));
  }
  volume.timed = times.size();
  volume.time_ns = distributionOf(times);
  if (volume.time_ns.sum > 0) {
    volume.algbw = static_cast<double>(timed_bytes) * 1e9 / volume.time_ns.sum;
  }
  if (factor && volume.algbw > 0) {
    volume.busbw = volume.algbw * *factor;
    volume.best_busbw = best * *factor;
  }
  return volume;
}

}  // namespace

std::vector<CommVolume> commVolumes(const std::vector<CommOperation>& operations,
                                    const JobCommunicators& communicators) {
  std::vector<OfClass> order;
  order.reserve(operations.size());
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const CommOperation& operation = operations[i];
    order.push_back({operation.function, operation.communicator,
                     static_cast<uint32_t>(std::bit_width(operation.bytes)), i});
  }
  std::sort(order.begin(), order.end(), [](const OfClass& a, const OfClass& b) {
    return std::tuple(a.place(), a.index) < std::tuple(b.place(), b.index);
  });
  std::vector<CommVolume> volumes;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && order[end].place() == order[begin].place()) ++end;
    const uint32_t communicator = order[begin].communicator;
    const uint64_t ranks =
        communicator == CommOperation::kNone ? 0 : communicators.all[communicator].ranks;
    volumes.push_back(volumeOf(operations, ranks, order.data() + begin, order.data() + end));
  }
  return volumes;
}

std::vector<CommTotals> commTotals(const Trace& trace,
                                   const std::vector<CommOperation>& operations) {
  std::map<uint32_t, CommTotals> by_communicator;
  for (const CommOperation& operation : operations) {
    CommTotals& totals = by_communicator[operation.communicator];
    const uint64_t sent = trace.comm.send_bytes[operation.row];
    if (operation.kind == CommKind::kCollective) {
      ++totals.collectives;
      totals.collective_sent_bytes += sent;
      totals.collective_received_bytes += operation.receive_bytes;
      continue;
    }
    if (operation.kind != CommKind::kReceive) {
      ++totals.sends;
      totals.sent_bytes += sent;
    }
    if (operation.kind != CommKind::kSend) {
      ++totals.receives;
      totals.received_bytes += operation.receive_bytes;
    }
  }
  std::vector<CommTotals> all;
  for (auto& [communicator, totals] : by_communicator) {
    totals.communicator = communicator;
    all.push_back(totals);
  }
  return all;
}

}  // namespace tracesmith
