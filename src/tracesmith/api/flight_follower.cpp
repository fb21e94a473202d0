// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/flight_follower.hpp"

#include <exception>

#include "tracesmith/api/session_threads.hpp"
#include "tracesmith/fleet/summary_file.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

void FlightFollower::onPart(const std::string& path, bool /*is_last*/) {
  session::t_facts.drains = true;  // what this thread allocates is not the program's
  try {
    (void)summary_.add(path);
  } catch (const std::exception& e) {
    failed_ = e.what();
  }
}

Status FlightFollower::writeSummary(const std::string& trace) {
  if (!failed_.empty()) return fail(ErrorCode::kNoSpace, failed_);
  TS_TRY(TraceReader reader, TraceReader::open(trace));
  SummaryFile file;
  TS_TRY(file.trace, identityOf(reader, trace));
  TS_TRY(const Trace metadata, reader.read({.tables = {TableId::kMetadata}}));
  file.trace.host = metadata.metadataValue("hostname");
  file.summary = summary_.finish(steps_.steps());
  return writeSummaryFile(trace + kSummaryEnding, file);
}

}  // namespace tracesmith
