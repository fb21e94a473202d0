// SPDX-License-Identifier: Apache-2.0
// What profile and attach sessions share: the check for disk space, the host's metadata, and the
// warnings and totals at the end.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

/// Checks that an arena can be created. Without one a program would run unrecorded.
Status checkRoomForArena(const SessionDir& dir, uint64_t ring_bytes);
void noteHost(Collector& collector, const std::string& command_line);
/// What can be recorded of the processors, and why no more.
void noteSystem(Collector& collector, const SystemRecorder& system, const SystemOptions& options);
void warnOfPeers(const PeerClocks* peers, ProfileOutcome& outcome);
CaptureProgress progressOf(const Collector& collector, int64_t elapsed_ns);
/// Adds one warning per reason, however many processes it affected.
void warnOfUnrecorded(const SessionDir& dir, ProfileOutcome& outcome);
/// Adds to the reasons why the recordings of processes ended.
void noteUnchanneled(const SessionDir& dir, RecordingTotals& totals);
/// Takes the totals of a finished collector, and what its agents could not do.
void takeTotals(const Collector& collector, const SessionDir& dir, ProfileOutcome& outcome);
/// Sets the paths of trace and recording. When a trace could not be written completely, recounts
/// what it contains.
void takePublished(const Collector& collector, ProfileOutcome& outcome);

}  // namespace tracesmith
