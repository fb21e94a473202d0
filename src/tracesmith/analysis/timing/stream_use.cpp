// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/stream_use.hpp"

namespace tracesmith {

std::vector<StreamUse> streamUses(const DeviceOps& ops) {
  std::vector<StreamUse> out;
  out.reserve(ops.streams.size());
  for (const StreamOps& s : ops.streams) {
    StreamUse use{.stream = s.stream, .device = s.device, .process = ops.ops[s.begin].process};
    for (uint32_t i = s.begin; i < s.end; ++i) {
      const DeviceOp& op = ops.ops[i];
      use.add(op.table, op.begin_ns, op.end_ns);
    }
    out.push_back(use);
  }
  return out;
}

}  // namespace tracesmith
