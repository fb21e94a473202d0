// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_callchains.hpp"

#include <algorithm>
#include <vector>

namespace tracesmith::import {

uint64_t NsysCallchains::read(SqliteFile& file, const SqliteTable& table, int kind) {
  struct Entry {
    int64_t id;
    int64_t depth;
    FrameId frame;
  };
  std::vector<Entry> entries;
  SqliteSource source(builder_, table, table.name, {});
  const int id = table.find("id");
  const int depth = table.find("stackDepth");
  const int symbol = table.find("symbol");
  const int module = table.find("module");
  const int address = table.find("originalIP");
  const bool usable = id >= 0 && depth >= 0 && symbol >= 0;
  uint64_t rows = 0;
  file.scan(table, [&](const SqliteRow& row) {
    ++rows;
    source.keepAlone(row);
    if (usable) {
      entries.push_back(
          {row.integer(id), row.integer(depth),
           paths_.frame({.address = static_cast<uint64_t>(row.integer(address)),
                         .function = text_(row.integer(symbol)),
                         .module = module >= 0 ? text_(row.integer(module)) : StringId::kNone})});
    }
    return !builder_.failed();
  });
  // Outermost frame of each stack first.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.id, b.depth) < std::tie(b.id, a.depth);
  });
  CallPathId parent = CallPathId::kNone;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].id != entries[i - 1].id) parent = CallPathId::kNone;
    parent = paths_.path(parent, entries[i].frame);
    stacks_[{kind, entries[i].id}] = parent;
  }
  return rows;
}

CallPathId NsysCallchains::at(int kind, int64_t id) const {
  const auto it = stacks_.find({kind, id});
  return it == stacks_.end() ? CallPathId::kNone : it->second;
}

}  // namespace tracesmith::import
