// SPDX-License-Identifier: Apache-2.0
// Builds call paths from host call stacks given frame by frame. Each distinct frame and path gets
// one row.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

class CallPaths {
 public:
  explicit CallPaths(TraceBuilder& builder) : builder_(builder) {}

  FrameId frame(const FrameRow& row);
  /// The path of `frame` when it is called from `parent` (kNone: `frame` is the outermost).
  CallPathId path(CallPathId parent, FrameId frame);

 private:
  using Key =
      std::tuple<uint64_t, StringId, StringId, StringId, uint32_t, uint64_t, StringId, uint32_t>;

  TraceBuilder& builder_;
  std::map<Key, FrameId> frames_;
  std::unordered_map<uint64_t, CallPathId> paths_;  // by parent and frame
};

}  // namespace tracesmith::import
