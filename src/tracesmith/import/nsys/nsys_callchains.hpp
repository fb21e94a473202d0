// SPDX-License-Identifier: Apache-2.0
// Host call stacks of an Nsight Systems export, which stores one frame per row, by stack id and
// depth (0: innermost).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "tracesmith/import/common/call_paths.hpp"
#include "tracesmith/import/sqlite/sqlite_source.hpp"

namespace tracesmith::import {

class NsysCallchains {
 public:
  using Text = std::function<StringId(int64_t id)>;
  /// `text`: looks up an id of the table StringIds.
  NsysCallchains(TraceBuilder& builder, Text text)
      : builder_(builder), text_(std::move(text)), paths_(builder) {}

  /// Reads `table`, keeps its rows and returns their number. Stack ids are separate for each
  /// `kind`; pass the same `kind` to at().
  uint64_t read(SqliteFile& file, const SqliteTable& table, int kind);
  CallPathId at(int kind, int64_t id) const;

 private:
  TraceBuilder& builder_;
  Text text_;
  CallPaths paths_;
  std::map<std::pair<int, int64_t>, CallPathId> stacks_;
};

}  // namespace tracesmith::import
