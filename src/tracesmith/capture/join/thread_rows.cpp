// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/thread_rows.hpp"

#include <algorithm>

namespace tracesmith {

ThreadId ThreadRows::thread(ProcessId process, uint32_t tid, std::string_view name,
                            NamedBy named_by) {
  const auto [it, is_new] = known_.try_emplace(keyOf(process, tid));
  Known& known = it->second;
  if (is_new) known.id = static_cast<ThreadId>(++ids_);
  bool is_changed = is_new;
  if (!name.empty() && named_by >= known.named_by) {
    const StringId text = delta_.strings.intern(name);
    is_changed = is_changed || text != known.name;
    known.name = text;
    known.named_by = named_by;
  }
  if (is_changed) {
    delta_.thread.push({.id = known.id, .process_id = process, .tid = tid, .name = known.name});
  }
  return known.id;
}

void ThreadRows::restore(const ThreadRow& row) {
  ids_ = std::max(ids_, static_cast<uint32_t>(row.id));
  known_[keyOf(row.process_id, row.tid)] = {
      .id = row.id, .name = row.name, .named_by = NamedBy::kProgram};
}

}  // namespace tracesmith
