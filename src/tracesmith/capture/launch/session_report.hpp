// SPDX-License-Identifier: Apache-2.0
// What sessions have in common that capture programs: room to begin with, what their trace says of
// the host, what they say at their end.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/collect/collector.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

/// An arena that cannot be made leaves a program unrecorded, so that is tried first.
Status checkRoomForArena(const SessionDir& dir, uint64_t ring_bytes);
void noteHost(Collector& collector, const std::string& command_line);
CaptureProgress progressOf(const Collector& collector, int64_t elapsed_ns);
/// One warning for each reason, however many processes it stopped.
void warnOfUnrecorded(const SessionDir& dir, ProfileOutcome& outcome);
/// Adds to the reasons for which the recordings of processes ended.
void noteUnchanneled(const SessionDir& dir, RecordingTotals& totals);
/// Of a collector that has finished, with what its agents could not do.
void takeTotals(const Collector& collector, const SessionDir& dir, ProfileOutcome& outcome);
/// Says where trace and recording are. Counts again what is in a trace that could not be written to
/// its end, however much was seen.
void takePublished(const Collector& collector, ProfileOutcome& outcome);

}  // namespace tracesmith
