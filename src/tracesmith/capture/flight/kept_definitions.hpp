// SPDX-License-Identifier: Apache-2.0
// What a flight recorder keeps of the whole session: the rows to which later events refer, and
// those that say where a collector continues. Events themselves are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class KeptDefinitions {
 public:
  /// Before a write: gives a new id to each name among the rows that files no longer have.
  void renameForgotten(Trace& delta);
  /// Takes the rows of a write. All writes have the same, growing string table.
  void add(const Trace& delta);
  /// Before another file begins: forgets the names that no event has used for `kForgottenAfter`
  /// files, if they are worth it. Files that begin later have "" in their place, so that a name for
  /// each step does not make them grow for ever.
  void forgetNames();
  /// After it has begun.
  void countFile() { ++file_; }
  /// Everything kept so far, for the start of a file. Its size grows with the distinct names in
  /// use, processes, threads and launch shapes, and not with the events.
  Trace rows() const;

  /// More than any window has parts, with those that still wait for their summary.
  static constexpr uint32_t kForgottenAfter = 128;

 private:
  void addSnapshots(const ClockSnapshotTable& snapshots);
  void noteUse(const Trace& delta);
  StringId newIdOf(StringId forgotten, StringTable& strings);

  /// The file in which a name was used last.
  static constexpr uint32_t kAlways = UINT32_MAX;  ///< definitions refer to it
  static constexpr uint32_t kForgotten = UINT32_MAX - 1;

  uint32_t file_ = 0;
  std::vector<uint32_t> last_use_;  // by StringId - 1
  bool has_forgotten_ = false;
  std::unordered_map<StringId, StringId> new_ids_;  // of forgotten names that came back
  Trace kept_;  // tables of which a row replaces another or is never replaced
  std::map<StringId, StringId> metadata_;
  std::map<std::tuple<ProcessId, ObjectKind, uint64_t>, ObjectRow> objects_;
  std::map<std::pair<StringId, uint32_t>, CommitRow> commits_;  // by arena and ring
  /// The last two of each domain: the clock's rate needs two.
  std::map<ClockDomainId, std::pair<ClockSnapshotRow, ClockSnapshotRow>> snapshots_;
  std::map<StringId, ClockOffsetRow> offsets_;  // the last one of each peer
};

}  // namespace tracesmith
