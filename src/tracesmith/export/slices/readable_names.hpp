// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Names of kernels for a reader: C++ names are demangled, all of a trace at once. Refers to the
/// strings of the trace.
class ReadableNames {
 public:
  explicit ReadableNames(const Trace& trace);

  /// Other names unchanged.
  std::string_view of(StringId id) const {
    const auto it = demangled_.find(id);
    return it == demangled_.end() ? trace_.strings.at(id) : std::string_view(it->second);
  }

 private:
  const Trace& trace_;
  std::unordered_map<StringId, std::string> demangled_;
};

}  // namespace tracesmith
