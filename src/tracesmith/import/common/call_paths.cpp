// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/call_paths.hpp"

namespace tracesmith::import {

FrameId CallPaths::frame(const FrameRow& row) {
  const auto [it, fresh] =
      frames_.try_emplace({row.address, row.function, row.file, row.module, row.line,
                           row.module_offset, row.build_id, row.flags});
  if (fresh) {
    it->second = idAt<FrameId>(frames_.size() - 1);
    builder_.rows.frame.push(row);
    builder_.added();
  }
  return it->second;
}

CallPathId CallPaths::path(CallPathId parent, FrameId frame) {
  const uint64_t key = static_cast<uint64_t>(parent) << 32 | static_cast<uint32_t>(frame);
  const auto [it, fresh] = paths_.try_emplace(key);
  if (fresh) {
    it->second = idAt<CallPathId>(paths_.size() - 1);
    builder_.rows.call_path.push({.parent = parent, .frame = frame});
    builder_.added();
  }
  return it->second;
}

}  // namespace tracesmith::import
