// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/streaming/time_sweep.hpp"

#include <algorithm>

namespace tracesmith {

void BreakdownSweep::moveTo(int64_t time) {
  while (at_ < time) {
    int64_t next = time;
    size_t running = 0;
    for (size_t c = 0; c < ends_.size(); ++c) {
      if (ends_[c] <= at_) continue;
      running |= size_t{1} << c;
      next = std::min(next, ends_[c]);
    }
    out_.together_ns[running] += next - at_;
    at_ = next;
  }
}

TimeBreakdown BreakdownSweep::finish() {
  if (first_) return out_;
  moveTo(*std::max_element(ends_.begin(), ends_.end()));
  TimeBreakdown out = out_;
  out.span_ns = at_ - out.begin_ns;
  out.idle_ns = out.together_ns[0];
  out.together_ns[0] = 0;
  out.busy_ns = out.span_ns - out.idle_ns;
  std::array<int64_t, 3> total{};
  for (size_t running = 1; running < out.together_ns.size(); ++running) {
    for (size_t c = 0; c < total.size(); ++c) {
      if ((running >> c & 1) != 0) total[c] += out.together_ns[running];
    }
  }
  out.compute_ns = total[0];
  out.communication_ns = total[1];
  out.memory_ns = total[2];
  out.non_compute_ns = out.span_ns - out.idle_ns - out.compute_ns;
  if (total[1] > 0) {
    out.overlap = static_cast<double>(out.together_ns[3] + out.together_ns[7]) /
                  static_cast<double>(total[1]);
  }
  return out;
}

TimeSweep::Stream& TimeSweep::newStream(const StreamedOp& op) {
  const auto [known, is_new] = streams_.try_emplace(op.stream);
  Stream& stream = known->second;
  if (is_new) {
    stream.idle.stream = op.stream;
    stream.idle.device = tables_.deviceOf(op.stream);
    stream.idle.process = op.process;
    stream.use.stream = op.stream;
    stream.use.device = stream.idle.device;
    stream.use.process = op.process;
    stream.device = &devices_[stream.idle.device];
    const auto id = static_cast<size_t>(op.stream);
    if (id <= tables_.stream.size()) {
      known_.resize(tables_.stream.size() + 1);
      known_[id] = &stream;
    }
  }
  return stream;
}

std::vector<TimeBreakdown> TimeSweep::byDevice() {
  std::vector<TimeBreakdown> out;
  for (auto& [device, sweep] : devices_) {
    out.push_back(sweep.finish());
    out.back().device = device;
  }
  return out;
}

std::vector<StreamUse> TimeSweep::streams() const {
  std::vector<StreamUse> out;
  for (const auto& [id, stream] : streams_) out.push_back(stream.use);
  return out;
}

std::vector<IdleTime> TimeSweep::idle() const {
  std::vector<IdleTime> out;
  for (const auto& [id, stream] : streams_) out.push_back(stream.idle);
  return out;
}

}  // namespace tracesmith
