// SPDX-License-Identifier: Apache-2.0
// TracingSession::exportToFile(), in a file of its own so that recording does not need the
// exporters.
#include <filesystem>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

Status TracingSession::exportToFile(const std::string& path) {
  TS_CHECK_OK(flush());
  const std::string trace_path = tracePath();
  if (trace_path.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the session has recorded nothing; start() it first");
  }
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".sbt") {
    std::error_code ec;
    if (std::filesystem::equivalent(trace_path, path, ec)) return {};
    std::filesystem::copy_file(trace_path, path, std::filesystem::copy_options::overwrite_existing,
                               ec);
    return ec ? Status(failErrno(ec.value(), "cannot write the trace", path)) : Status();
  }
  TS_TRY(TraceReader reader, TraceReader::open(trace_path));
  TS_TRY(Trace trace, reader.read());
  const TracingConfig& what = config();
  if (!what.enable_gpu_tracks) {
    trace.kernel.clear();
    trace.copy.clear();
    trace.fill.clear();
    for (uint32_t& flags : trace.sync.flags) flags |= op_flags::kHostSide;
  }
  PerfettoOptions options;
  options.counters = what.enable_counter_tracks;
  options.flows = what.enable_flow_events;
  options.all_frames = what.all_frames;
  return extension == ".json" ? exportChromeJson(trace, path, options)
                              : exportPerfetto(trace, path, options);
}

}  // namespace tracesmith
