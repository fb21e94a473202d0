// SPDX-License-Identifier: Apache-2.0
// Writes host call stacks in Perfetto's form. An event refers to a callstack by number. Callstacks,
// frames, names, files and modules are interned once on each sequence that uses them. A Perfetto
// frame has one function, so a frame with inlined functions becomes several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/export/perfetto/perfetto_packets.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::perfetto {

class Stacks {
 public:
  /// `paths`: the call paths that ids refer to. Both arguments must outlive this object.
  Stacks(const Trace& trace, const CallPathTable& paths);

  /// The number of the path's callstack; 0: not in the trace.
  uint64_t number(CallPathId path) const {
    const auto p = static_cast<size_t>(path);
    return p != 0 && p <= paths_.size() && isKnown(paths_.frame[p - 1]) ? p : 0;
  }
  /// Appends to `out` those InternedData fields that the callstack needs and that `seen` lacks.
  /// `path` must have a number.
  void introduce(CallPathId path, SeenStacks& seen, std::string& out);

 private:
  bool isKnown(FrameId id) const {
    return id != FrameId::kNone && static_cast<size_t>(id) <= trace_.frame.size();
  }
  void introduceFrame(FrameId frame, SeenStacks& seen, std::string& out);
  uint32_t introduceModule(const FrameRow& frame, SeenStacks& seen, std::string& out);
  uint32_t textNumber(std::string_view text);

  const Trace& trace_;
  const CallPathTable& paths_;
  const FrameSymbols symbols_;
  // By FrameId: number of the frame's outermost function. The numbers of its other functions
  // follow.
  std::vector<uint32_t> first_number_;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<uint64_t, uint32_t> mappings_;  // by module and build-id
  std::vector<FrameFunction> functions_;             // of one frame
};

}  // namespace tracesmith::perfetto
