// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/comm_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cluster/comm_pattern.hpp"
#include "tracesmith/state/timeline.hpp"

namespace tracesmith {
namespace {

bool isMessage(const NCCLOperation& operation) {
  return operation.op_type == NCCLOpType::Send || operation.op_type == NCCLOpType::Recv;
}

uint64_t durationOf(const NCCLOperation& operation) {
  if (operation.duration_ns > 0) return operation.duration_ns;
  return operation.end_time > operation.start_time ? operation.end_time - operation.start_time : 0;
}

/// From rank to rank, of a message with a peer.
std::pair<uint32_t, uint32_t> pairOf(const NCCLOperation& message) {
  const auto peer = static_cast<uint32_t>(message.peer_rank);
  return message.op_type == NCCLOpType::Send ? std::pair(message.rank, peer)
                                             : std::pair(peer, message.rank);
}

/// Messages of a pair: their times, and how fast they were.
struct PairTimes {
  std::vector<Interval> times;
  double bytes = 0;
};

}  // namespace

void CommAnalysis::addOperations(const std::vector<NCCLOperation>& operations) {
  for (const NCCLOperation& operation : operations) addOperation(operation);
}

void CommAnalysis::addOperation(const NCCLOperation& operation) {
  operations_.push_back(operation);
  ranks_.insert(operation.rank);
  const uint64_t highest = std::max<int64_t>(operation.rank, operation.peer_rank);
  const uint64_t world = std::min<uint64_t>(std::max<uint64_t>(operation.world_size, highest + 1),
                                            std::numeric_limits<uint32_t>::max());
  world_size_ = std::max(world_size_, static_cast<uint32_t>(world));
}

void CommAnalysis::clear() { *this = CommAnalysis(); }

/// Whether a message is in the matrix, so that those with both ends are in it once.
bool CommAnalysis::isCounted(const NCCLOperation& message) const {
  if (!isMessage(message) || message.peer_rank < 0) return false;
  return message.op_type == NCCLOpType::Send ||
         !ranks_.contains(static_cast<uint32_t>(message.peer_rank));
}

CommAnalysis::CommMatrix CommAnalysis::getCommMatrix() const {
  CommMatrix matrix;
  matrix.world_size = world_size_;
  const size_t n = world_size_;
  if (n > kMostRanks) return matrix;
  matrix.bytes.assign(n, std::vector<uint64_t>(n, 0));
  matrix.count = matrix.bytes;
  matrix.avg_latency.assign(n, std::vector<double>(n, 0));
  std::vector<std::vector<uint32_t>> timed(n, std::vector<uint32_t>(n, 0));
  const auto add = [&](uint32_t from, uint32_t to, uint64_t bytes, const NCCLOperation& operation) {
    matrix.bytes[from][to] += bytes;
    ++matrix.count[from][to];
    if (const uint64_t ns = durationOf(operation); ns > 0) {
      matrix.avg_latency[from][to] += static_cast<double>(ns);
      ++timed[from][to];
    }
  };
  for (const NCCLOperation& operation : operations_) {
    const uint32_t ranks = operation.world_size;
    if (isCounted(operation)) {
      const auto [from, to] = pairOf(operation);
      add(from, to, operation.data_size, operation);
    } else if (operation.op_type == NCCLOpType::AllToAll) {
      for (uint32_t to = 0; to < ranks; ++to) {
        if (to != operation.rank) add(operation.rank, to, operation.data_size / ranks, operation);
      }
    } else if (operation.op_type == NCCLOpType::Broadcast && operation.peer_rank >= 0) {
      const auto root = static_cast<uint32_t>(operation.peer_rank);
      if (operation.rank == root) {
        for (uint32_t to = 0; to < ranks; ++to) {
          if (to != root) add(root, to, operation.data_size, operation);
        }
      } else if (!ranks_.contains(root)) {
        add(root, operation.rank, operation.data_size, operation);
      }
    }
  }
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      if (timed[a][b] > 0) matrix.avg_latency[a][b] /= timed[a][b];
    }
  }
  return matrix;
}

CommAnalysis::CommPattern CommAnalysis::detectPattern() const {
  const CommMatrix matrix = getCommMatrix();
  std::vector<std::vector<bool>> sends(matrix.bytes.size(),
                                       std::vector<bool>(matrix.bytes.size(), false));
  for (size_t a = 0; a < sends.size(); ++a) {
    for (size_t b = 0; b < sends.size(); ++b) sends[a][b] = matrix.count[a][b] > 0;
  }
  return patternOf(sends);
}

std::string_view CommAnalysis::patternToString(CommPattern pattern) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "Unknown", "AllToAll", "Ring", "Tree", "Butterfly", "PointToPoint", "Broadcast", "Custom"};
  const auto i = static_cast<size_t>(pattern);
  return i < kNames.size() ? kNames[i] : "Unknown";
}

std::vector<CommAnalysis::Bottleneck> CommAnalysis::findBottlenecks(double threshold) const {
  std::map<std::pair<uint32_t, uint32_t>, PairTimes> pairs;
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  for (const NCCLOperation& operation : operations_) {
    const uint64_t ns = durationOf(operation);
    if (ns == 0 || operation.start_time > INT64_MAX) continue;
    const auto start = static_cast<int64_t>(operation.start_time);
    const int64_t end = endOf(start, static_cast<int64_t>(std::min<uint64_t>(ns, INT64_MAX)));
    first = std::min(first, start);
    last = std::max(last, end);
    if (!isCounted(operation)) continue;
    PairTimes& pair = pairs[pairOf(operation)];
    pair.times.push_back({start, end});
    pair.bytes += static_cast<double>(operation.data_size);
  }
  if (pairs.empty() || last <= first) return {};
  struct Busy {
    std::pair<uint32_t, uint32_t> ranks;
    double utilization;
    double bytes_per_s;
  };
  std::vector<Busy> all;
  std::vector<double> rates;
  for (auto& [ranks, pair] : pairs) {
    const auto busy_ns = static_cast<double>(totalNs(unionOf(std::move(pair.times))));
    all.push_back(
        {ranks, busy_ns / static_cast<double>(lengthOf(first, last)), pair.bytes * 1e9 / busy_ns});
    rates.push_back(all.back().bytes_per_s);
  }
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Busy& a, const Busy& b) { return a.utilization > b.utilization; });
  std::vector<Bottleneck> found;
  for (const Busy& busy : all) {
    if (busy.utilization < threshold) break;
    found.push_back({busy.ranks.first, busy.ranks.second, busy.utilization,
                     fmt::format("busy for {} of the time, at {}; the median of all pairs is {}",
                                 formatPercent(busy.utilization), formatBandwidth(busy.bytes_per_s),
                                 formatBandwidth(*middle))});
  }
  return found;
}

std::vector<CommAnalysis::LoadImbalance> CommAnalysis::analyzeLoadBalance() const {
  std::map<uint32_t, LoadImbalance> by_rank;
  double bytes = 0, ns = 0;
  for (const NCCLOperation& operation : operations_) {
    LoadImbalance& rank = by_rank[operation.rank];
    rank.rank = operation.rank;
    rank.total_bytes += operation.data_size;
    rank.total_time_ns += durationOf(operation);
    bytes += static_cast<double>(operation.data_size);
    ns += static_cast<double>(durationOf(operation));
  }
  std::vector<LoadImbalance> all;
  for (auto& [number, rank] : by_rank) {
    const double mean = (ns > 0 ? ns : bytes) / static_cast<double>(by_rank.size());
    const auto value = static_cast<double>(ns > 0 ? rank.total_time_ns : rank.total_bytes);
    if (mean > 0) rank.deviation = (value - mean) / mean;
    all.push_back(rank);
  }
  std::stable_sort(all.begin(), all.end(), [](const LoadImbalance& a, const LoadImbalance& b) {
    return std::abs(a.deviation) > std::abs(b.deviation);
  });
  return all;
}

std::string CommAnalysis::matrixToASCII() const {
  const CommMatrix matrix = getCommMatrix();
  if (matrix.bytes.empty()) {
    return matrix.world_size == 0
               ? "no operations\n"
               : fmt::format("{} ranks are too many for a matrix\n", matrix.world_size);
  }
  std::vector<std::vector<std::string>> cells;
  size_t width = 1;
  for (const auto& row : matrix.bytes) {
    cells.emplace_back();
    for (const uint64_t value : row) {
      cells.back().push_back(value == 0 ? "-" : formatBytes(value));
      width = std::max(width, cells.back().back().size());
    }
  }
  const size_t numbers = std::to_string(matrix.world_size).size();
  width = std::max(width, numbers);
  std::string text = fmt::format("{:>{}}", "", numbers);
  for (size_t i = 0; i < cells.size(); ++i) text += fmt::format("  {:>{}}", i, width);
  text += '\n';
  for (size_t i = 0; i < cells.size(); ++i) {
    text += fmt::format("{:>{}}", i, numbers);
    for (const std::string& cell : cells[i]) text += fmt::format("  {:>{}}", cell, width);
    text += '\n';
  }
  return text;
}

std::string CommAnalysis::matrixToHeatmapJSON() const {
  const CommMatrix matrix = getCommMatrix();
  const auto text_of = [](const auto& rows) {
    std::string text = "[";
    for (size_t i = 0; i < rows.size(); ++i) {
      text += i == 0 ? "[" : ", [";
      for (size_t k = 0; k < rows[i].size(); ++k) {
        text += fmt::format("{}{}", k == 0 ? "" : ", ", rows[i][k]);
      }
      text += "]";
    }
    return text + "]";
  };
  return fmt::format(
      "{{\"world_size\": {}, \"bytes\": {}, \"count\": {}, \"avg_latency_ns\": {}}}\n",
      matrix.world_size, text_of(matrix.bytes), text_of(matrix.count), text_of(matrix.avg_latency));
}

uint64_t CommAnalysis::getTotalBytes() const {
  uint64_t sum = 0;
  for (const NCCLOperation& operation : operations_) {
    if (!isMessage(operation) || isCounted(operation)) sum += operation.data_size;
  }
  return sum;
}

}  // namespace tracesmith
