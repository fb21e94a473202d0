// SPDX-License-Identifier: Apache-2.0
// What a flight recorder keeps of the whole session: the rows to which later events refer, and
// those that say where a collector continues. Events themselves are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class KeptDefinitions {
 public:
  /// Takes the rows of a write. All writes have the same, growing string table.
  void add(const Trace& delta);
  /// Everything kept so far, for the start of a file. Its size grows with the distinct names,
  /// processes, threads and launch shapes, and not with the events.
  Trace rows() const;

 private:
  void addSnapshots(const ClockSnapshotTable& snapshots);

  Trace kept_;  // tables of which a row replaces another or is never replaced
  std::map<StringId, StringId> metadata_;
  std::map<std::tuple<ProcessId, ObjectKind, uint64_t>, ObjectRow> objects_;
  std::map<std::pair<StringId, uint32_t>, CommitRow> commits_;  // by arena and ring
  /// The last two of each domain: the clock's rate needs two.
  std::map<ClockDomainId, std::pair<ClockSnapshotRow, ClockSnapshotRow>> snapshots_;
  std::map<StringId, ClockOffsetRow> offsets_;  // the last one of each peer
};

}  // namespace tracesmith
