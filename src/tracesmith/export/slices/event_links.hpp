// SPDX-License-Identifier: Apache-2.0
// Collects flows and classifies them by what they connect. Sources are the `flow` table,
// TraceEvents (FlowInfo), and flows drawn by other tools (`flow_event`).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/export/slices/device_work.hpp"
#include "tracesmith/export/slices/host_slices.hpp"

namespace tracesmith {

/// A flow between device work is a wait. A flow between host slices is an arrow. A flow between
/// host and device means that the slice submits the work, or waited for it.
class Links {
 public:
  enum class LinkKind : uint8_t { kArrowOut, kArrowIn, kSubmits, kWaitedFor };
  struct HostLink {
    SliceSource source;
    uint32_t row;
    LinkKind what;
    uint64_t value;   ///< arrows: a number that both ends share; else a work number
    StringId name{};  ///< for an arrow drawn by another tool
  };

  Links() = default;
  Links(const Trace& trace, const Selection& selection, const DeviceWork& work);

  /// Numbers of the work that the work `number` waited for.
  std::span<const uint32_t> waits(uint64_t number) const {
    if (offsets_.empty()) return {};
    return {froms_.data() + offsets_[number], offsets_[number + 1] - offsets_[number]};
  }
  std::span<const HostLink> ofSlice(SliceSource source, uint32_t row) const;

  /// Number of flows with an end that was not found.
  uint64_t unresolved() const { return unresolved_; }

 private:
  std::vector<uint32_t> offsets_;  // by work number, with one extra entry at the end
  std::vector<uint32_t> froms_;
  std::vector<HostLink> host_;  // by (source, row)
  struct End;
  void join(const End& from, const End& to, StringId name = StringId::kNone);
  void addEventArrows(const Trace& trace, const Selection& selection, const DeviceWork& work);
  void addDrawnArrows(const Trace& trace, const Selection& selection, const DeviceWork& work);
  void addFlows(const Trace& trace, const DeviceWork& work);
  void sortIn(uint64_t works);

  uint64_t unresolved_ = 0;
  uint64_t arrows_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // (to, from), until sortIn()
};

}  // namespace tracesmith
