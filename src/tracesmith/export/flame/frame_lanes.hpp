// SPDX-License-Identifier: Apache-2.0
// A trace as stacks over time, for formats that know nothing else: the slices of each thread that
// nest, and the work of each stream. What overlaps without nesting goes to a further lane.
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

/// The texts that slices are shown as, numbered from 0.
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
  std::vector<const std::string*> texts_;  // the keys stay where they are
};

struct FrameSlice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t frame = 0;
  CallPathId call_path{};  ///< of device work: where the host asked for it
};

struct FrameLane {
  std::string owner;               ///< process or device
  std::string track;               ///< thread or stream
  uint32_t lane = 0;               ///< 0 for the first
  bool device = false;             ///< work of a stream
  std::vector<FrameSlice> slices;  ///< by start, parents before children; they nest
};

/// Calls f(lane) for each lane that has slices: threads first, then streams. Instants, and device
/// work without device times, are left out.
void forEachFrameLane(const Trace& trace, const Selection& selection, FrameNames& names,
                      const std::function<void(const FrameLane&)>& f);

}  // namespace tracesmith
