// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/perfetto/perfetto_writer.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/analysis/timing/runtime_frames.hpp"
#include "tracesmith/export/perfetto/perfetto_encoder.hpp"

namespace tracesmith {
namespace perfetto {
namespace {

/// Perfetto's times are unsigned, so a trace that starts before 0 is shifted to start at 0.
int64_t baseOf(const Trace& trace) {
  int64_t base = 0;
  const auto look = [&](const Column<int64_t>& column) {
    for (int64_t t : column) base = std::min(base, t);
  };
  forEachTable(trace, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (requires {
                    table.start_ns;
                    table.duration_ns;
                  })
      look(table.start_ns);
    if constexpr (Table::kId == TableId::kMemoryEvent || Table::kId == TableId::kCounter ||
                  Table::kId == TableId::kWakeup) {
      look(table.time_ns);
    }
  });
  return base;
}

/// Seed that makes the track ids differ from those of another trace opened in the same viewer.
uint64_t seedOf(const Trace& trace) {
  uint64_t seed = 0;
  const ProcessTable& processes = trace.process;
  for (size_t i = 0; i < processes.size(); ++i) {
    const std::string_view boot = trace.text(processes.boot_id[i]);
    const uint64_t key[] = {processes.pid[i], processes.start_ticks[i],
                            static_cast<uint64_t>(processes.start_ns[i])};
    seed = hash64({reinterpret_cast<const uint8_t*>(key), sizeof key}, seed);
    seed = hash64(asBytes(boot), seed);
  }
  return seed;
}

}  // namespace

Encoder::Encoder(const Trace& trace, Output& out, const PerfettoOptions& options,
                 const Selection& selection, DeviceWork work)
    : trace_(trace),
      options_(options),
      selection_(selection),
      base_ns_(baseOf(trace)),
      clock_(clockOf(trace, base_ns_ != 0)),
      packets_(out, base_ns_, clock_.id, seedOf(trace)),
      work_(std::move(work)),
      tracks_(trace),
      names_(trace.strings.size()),
      readable_names_(trace) {
  if (options.flows) links_ = Links(trace, selection, work_);
  if (options.full_args) attributes_ = RowAttributes(trace);
  // Viewers before v53 count each stack as an error.
  if (options.compat || trace.call_path.empty()) return;
  if (!options.all_frames) shown_paths_ = withoutRuntimeFrames(trace);
  stacks_.emplace(trace, options.all_frames ? trace.call_path : shown_paths_);
}

void Encoder::run() {
  writePreamble();
  if (options_.compat)
    submitted_.assign(work_.number(WorkKind::kSync, trace_.sync.size()) + 1, false);
  writeHostSlices();
  if (options_.compat) {
    writeDeviceSlices();
  } else {
    writeDeviceWork();
  }
  writeThreadStates();
  if (options_.counters) {
    writeCounters();
    writeAllocatedMemory();
  }
  writeTrailer();
}

PerfettoSummary Encoder::summary() const {
  PerfettoSummary s;
  s.packets = packets_.packets();
  s.events = events_;
  return s;
}

}  // namespace perfetto

Result<PerfettoSummary> writePerfetto(const Trace& trace, Output& out,
                                      const PerfettoOptions& options) {
  if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns) {
    return fail(ErrorCode::kInvalidArgument, "the time range to export ends before it starts");
  }
  const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
  TS_TRY(DeviceWork work, DeviceWork::index(trace, selection));
  const uint64_t before = out.bytesWritten();
  perfetto::Encoder encoder(trace, out, options, selection, std::move(work));
  encoder.run();
  PerfettoSummary summary = encoder.summary();
  summary.bytes = out.bytesWritten() - before;
  return summary;
}

Status exportPerfetto(const Trace& trace, const std::string& path, const PerfettoOptions& options) {
  TS_TRY(Output out, Output::toFile(path));
  auto summary = writePerfetto(trace, out, options);
  if (!summary) return tl::unexpected<Error>(std::move(summary).error());
  return out.finish();
}

}  // namespace tracesmith
