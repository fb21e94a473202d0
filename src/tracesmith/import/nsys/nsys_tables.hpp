// SPDX-License-Identifier: Apache-2.0
// The meaning of tables and columns of an Nsight Systems export (`nsys export --type sqlite`). The
// tool uses the same column names in all tables, so one list of columns serves all of them. The set
// of tables and columns depends on the tool's version and on what was recorded.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tracesmith/import/sqlite/sqlite_file.hpp"

namespace tracesmith::import {

enum class NsysField : uint8_t {
  kStart,
  kEnd,
  kDevice,
  kContext,
  kStream,
  kCorrelation,
  kGlobalPid,
  kGlobalTid,
  kBytes,
  kDemangledName,
  kShortName,
  kName,
  kText,
  kTextId,
  kKind,
  kDomain,
  kResult,
  kCallchain,
  kAddress,
  kVariable,
  kGraph,
  kValue,
  kType,
  kMetric,
  kRegisters,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kStaticShared,
  kDynamicShared,
  kLocalPerThread,
  kClusterX,
  kClusterY,
  kClusterZ,
  kSeverity,
  kEvent,
  kEventSync,
  kSourceDevice,
  kDestinationDevice,
  kCount,
};

enum class NsysTarget : uint8_t {
  kHostCall,
  kKernel,
  kGraph,  ///< a CUDA graph as a whole: the tool did not record its kernels
  kCopy,
  kFill,
  kSync,
  kEventRecord,
  kMemory,
  kNvtx,
  kMetric,
  kDiagnostic,
  kRange,       ///< with the category in NsysTableKind
  kDictionary,  ///< lookup table, no events
  kUnknown,     ///< ranges if it has times and names, else only kept
};

struct NsysTableKind {
  std::string_view table;  ///< a trailing * matches any suffix
  NsysTarget target = NsysTarget::kUnknown;
  std::string_view category;
};

/// The kind of `table`.
NsysTableKind nsysTableKind(std::string_view table);

/// Column indices of the fields in one table.
class NsysColumns {
 public:
  explicit NsysColumns(const SqliteTable& table);
  int at(NsysField field) const { return place_[static_cast<size_t>(field)]; }
  bool has(NsysField field) const { return at(field) >= 0; }

 private:
  std::array<int, static_cast<size_t>(NsysField::kCount)> place_;
};

}  // namespace tracesmith::import
