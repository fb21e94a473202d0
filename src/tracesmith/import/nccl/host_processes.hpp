// SPDX-License-Identifier: Apache-2.0
// The processes of a job, of several hosts: process numbers repeat there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tracesmith/import/common/trace_builder.hpp"

namespace tracesmith::import {

class HostProcesses {
 public:
  explicit HostProcesses(TraceBuilder& builder) : builder_(builder) {}

  /// `host`: its name or address. `pid`: below 0 if unknown.
  ProcessId of(std::string_view host, int64_t pid);

 private:
  TraceBuilder& builder_;
  std::map<std::pair<std::string, int64_t>, ProcessId> processes_;
};

}  // namespace tracesmith::import
