// SPDX-License-Identifier: Apache-2.0
// Exports TraceEvents, for programs that hold events rather than a Trace. The events are turned
// into columns; perfetto_writer.hpp and chrome_json.hpp write those.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

struct PerfettoMetadata {
  std::string process_name;  ///< shown as the process of all events
  std::string thread_name;   ///< shown for threads without a name
  std::map<std::string, std::string> custom_metadata;
};

/// Writes TraceEvents as Chrome's JSON trace format. Not thread-safe: one thread at a time. When a
/// method returns false, lastError() has the reason and lastStatus() the reason with its error
/// code.
class PerfettoExporter {
 public:
  bool exportToFile(const std::vector<TraceEvent>& events, const std::string& path);
  bool exportToFile(const std::vector<TraceEvent>& events,
                    const std::vector<CounterEvent>& counters, const std::string& path);
  /// Returns "" on failure.
  std::string exportToString(const std::vector<TraceEvent>& events);
  std::string exportToString(const std::vector<TraceEvent>& events,
                             const std::vector<CounterEvent>& counters);

  /// False: device work (kernels, copies, fills) is omitted. Default: true.
  void setEnableGPUTracks(bool enable) { gpu_tracks_ = enable; }
  /// False: flow arrows are omitted. Default: true.
  void setEnableFlowEvents(bool enable) { flow_events_ = enable; }
  /// False: counters and allocated memory are omitted. Default: true.
  void setEnableCounterTracks(bool enable) { counter_tracks_ = enable; }
  /// True: stacks include the frames of the interpreter, libffi and the loader, which are
  /// recognised by StackFrame::module. Default: false.
  void setAllFrames(bool all) { all_frames_ = all; }
  void setMetadata(const PerfettoMetadata& metadata) { metadata_ = metadata; }

  const std::string& lastError() const { return last_error_; }
  const Status& lastStatus() const { return last_status_; }

 protected:
  /// The events as columns, without the parts switched off. Incomplete if the work was cancelled.
  Trace traceOf(const std::vector<TraceEvent>& events,
                const std::vector<CounterEvent>& counters) const;
  bool keep(const Status& status);

  bool gpu_tracks_ = true;
  bool flow_events_ = true;
  bool counter_tracks_ = true;
  bool all_frames_ = false;
  PerfettoMetadata metadata_;
  std::string last_error_;
  Status last_status_;
};

/// PerfettoExporter with a choice of format. PROTOBUF is Perfetto's own format, with typed GPU
/// packets.
class PerfettoProtoExporter : public PerfettoExporter {
 public:
  enum class Format { JSON, PROTOBUF };

  explicit PerfettoProtoExporter(Format format = Format::PROTOBUF) : format_(format) {}

  bool exportToFile(const std::vector<TraceEvent>& events, const std::string& path);
  bool exportToFile(const std::vector<TraceEvent>& events,
                    const std::vector<CounterEvent>& counters, const std::string& path);
  Format getFormat() const { return format_; }

  /// Always false: TraceSmith does not include the Perfetto SDK. PROTOBUF does not need it; it uses
  /// TraceSmith's own encoder (export/perfetto/proto_wire.hpp).
  static bool isSDKAvailable() { return false; }

 private:
  Format format_;
};

}  // namespace tracesmith
