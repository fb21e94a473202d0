// SPDX-License-Identifier: Apache-2.0
// Presents a trace as stacks over time, for formats that support nothing else: the nested slices of
// each thread, and the work of each stream. Slices that overlap without nesting go to an additional
// lane.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The texts of slices, numbered from 0.
class FrameNames {
 public:
  uint32_t of(std::string_view text) {
    const auto [it, fresh] =
        numbers_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(&it->first);
    return it->second;
  }
  size_t size() const { return texts_.size(); }
  const std::string& at(uint32_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;  // point to keys of numbers_, which do not move
};

struct FrameSlice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t frame = 0;
  CallPathId call_path{};  ///< for device work: the host call stack of its launch
};

struct FrameLane {
  std::string owner;               ///< process or device
  std::string track;               ///< thread or stream
  uint32_t lane = 0;               ///< 0 for the first
  bool device = false;             ///< a stream (else a thread)
  std::vector<FrameSlice> slices;  ///< properly nested; by start, parents before children
};

/// Calls f(lane) for each lane that has slices: threads first, then streams. Leaves out instants,
/// and device work without device times.
void forEachFrameLane(const Trace& trace, const Selection& selection, FrameNames& names,
                      const std::function<void(const FrameLane&)>& f);

}  // namespace tracesmith
