// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nccl/host_processes.hpp"

namespace tracesmith::import {

ProcessId HostProcesses::of(std::string_view host, int64_t pid) {
  const auto [it, fresh] = processes_.try_emplace({std::string(host), pid});
  if (fresh) {
    it->second = builder_.process(static_cast<int64_t>(processes_.size()));
    // Replaces the row of that id, which has the number of the process here.
    builder_.rows.process.push({.id = it->second,
                                .pid = pid < 0 ? 0 : systemNumber(pid),
                                .command_line = builder_.text("on " + std::string(host)),
                                .seen_by = builder_.text("import")});
    builder_.added();
  }
  return it->second;
}

}  // namespace tracesmith::import
