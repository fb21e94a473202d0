// SPDX-License-Identifier: Apache-2.0
// The arrows of the `flow` table, those that TraceEvents carry (FlowInfo), and those that other
// tools drew (`flow_event`), sorted out by what lies at their ends.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/export/slices/device_work.hpp"
#include "tracesmith/export/slices/host_slices.hpp"

namespace tracesmith {

/// From and to device work: a wait. Both on the host: an arrow between slices. Mixed: the slice
/// submits the work, or waited for it.
class Links {
 public:
  enum class What : uint8_t { kArrowOut, kArrowIn, kSubmits, kWaitedFor };
  struct HostLink {
    SliceSource source;
    uint32_t row;
    What what;
    uint64_t value;   ///< number of the arrow, the same at both ends; else a work number
    StringId name{};  ///< of an arrow that another tool drew
  };

  Links() = default;
  Links(const Trace& trace, const Selection& selection, const DeviceWork& work);

  /// Work numbers that the work `number` waited for.
  std::span<const uint32_t> waits(uint64_t number) const {
    if (offsets_.empty()) return {};
    return {froms_.data() + offsets_[number], offsets_[number + 1] - offsets_[number]};
  }
  std::span<const HostLink> ofSlice(SliceSource source, uint32_t row) const;

  /// Flows neither of whose ends could be found at both sides.
  uint64_t unresolved() const { return unresolved_; }

 private:
  std::vector<uint32_t> offsets_;  // by work number, one more than there are
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
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // (to, from), until they are sorted in
};

}  // namespace tracesmith
