// SPDX-License-Identifier: Apache-2.0
// Host call stacks as Perfetto has them: an event names a callstack by number; callstacks, their
// frames, and the names, files and modules of those are introduced once on each sequence that uses
// them. A frame there has one function, so where functions were inlined it becomes several.
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
  /// Refers to `trace` and `paths`, which must outlive this. `paths`: what its ids lead to.
  Stacks(const Trace& trace, const CallPathTable& paths);

  /// The number of the path's callstack; 0: it is not there.
  uint64_t number(CallPathId path) const {
    const auto p = static_cast<size_t>(path);
    return p != 0 && p <= paths_.size() && isKnown(paths_.frame[p - 1]) ? p : 0;
  }
  /// Appends to `out` the fields of InternedData that a callstack with a number needs and that
  /// `seen` lacks.
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
  std::vector<uint32_t> first_number_;  // of a frame's functions, the outermost first; by FrameId
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<uint64_t, uint32_t> mappings_;  // by module and build-id
  std::vector<FrameFunction> functions_;             // of one frame
};

}  // namespace tracesmith::perfetto
