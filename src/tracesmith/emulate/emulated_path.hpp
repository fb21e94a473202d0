// SPDX-License-Identifier: Apache-2.0
// The critical path of an emulated program: from its end back to its start, at each point to what
// was waited for last.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/emulate/emulator.hpp"

namespace tracesmith {

enum class PathPart : uint8_t {
  kHostCode,    ///< between calls, and from one thread to another
  kHostCalls,   ///< in calls, without what they wait for
  kHostReturn,  ///< from the end of the awaited work to the call's return
  kLaunch,      ///< from a launch to its work, on an idle stream
  kCompute,
  kCommunication,
  kMemory,      ///< copies and fills
  kGap,         ///< between two dependent operations
  kContention,  ///< ready, but the device or its copy engine was occupied
  kUnexplained,
};
constexpr size_t kPathParts = 10;
std::string_view toString(PathPart part);

struct EmulatedPath {
  std::array<int64_t, kPathParts> total_ns{};
  struct OnPath {
    StringId name{};
    TableId table{};
    uint64_t count = 0;
    int64_t total_ns = 0;
  };
  std::vector<OnPath> work;  ///< by name, the longest first

  static EmulatedPath of(const EmulatorGraph& graph, const Emulation& emulation);
  int64_t length() const;
};

}  // namespace tracesmith
