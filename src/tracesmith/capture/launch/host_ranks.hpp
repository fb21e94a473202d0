// SPDX-License-Identifier: Apache-2.0
// Records the ranks of a job on one host together (`mpirun ... tracesmith profile --per-host`).
//
// mpirun starts one `tracesmith profile` for each rank. That of the host's first rank is the
// recorder. It leaves the file ranks.open in its session directory when its agents can be used. The
// others add a file of their own, and become their program, with the agents of that session. The
// recorder continues until the programs of all of them have ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

/// What the launcher of a job tells a rank.
struct HostRank {
  uint32_t number = 0;  ///< among the ranks of its host, from 0
  uint32_t count = 1;   ///< ranks of its host
  std::string job;      ///< equal for the ranks of a job; "": unknown
};

/// By the environment variables of Open MPI, of MPICH and its relatives, or of Slurm. kUnsupported
/// if none of them are set.
Result<HostRank> hostRank();

/// "job.sbt" with the name of this host: "job-node1.sbt".
std::string withHostName(const std::string& output);

/// Replaces this process, which is not the host's first rank, by the program of `options`, recorded
/// by the session that writes to options.output. Returns only if that is not possible. Without a
/// recorder it warns on standard error, and the program runs without: after ten seconds if there is
/// no session, after a minute if there is one that does not get ready.
Error joinHostRanks(const ProfileOptions& options, const HostRank& self);

/// The recorder's view of the other ranks of its host.
class HostRanks {
 public:
  /// Lets them join. `log` and `library` are what Descendants wants preloaded; both may be empty.
  static Result<HostRanks> open(const SessionDir& dir, const HostRank& self, const std::string& log,
                                const std::string& library);

  /// Process ids of the ranks that joined since the last call. Looks 20 times a second.
  std::vector<uint32_t> takeJoined(int64_t now_ns);
  /// Whether a rank still runs, or is still awaited: for two seconds after the recorder's own
  /// program has ended.
  bool areExpected(int64_t now_ns, int64_t own_end_ns) const;
  /// No rank can join any more, except those that takeJoined() gives next.
  void close();
  bool isClosed() const { return is_closed_; }
  /// Ranks of this host that did not join.
  uint32_t missing() const;

 private:
  HostRanks(const SessionDir& dir, uint32_t count) : dir_(dir), count_(count) {}

  SessionDir dir_;
  uint32_t count_;
  std::map<uint32_t, uint64_t> joined_;  // pid, start time in ticks
  int64_t next_look_ns_ = 0;
  bool is_closed_ = false;
};

}  // namespace tracesmith
