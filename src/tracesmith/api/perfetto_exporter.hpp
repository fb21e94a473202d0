// SPDX-License-Identifier: Apache-2.0
// Export of TraceEvents, for those who hold events rather than a trace. The work is done by
// perfetto_writer.hpp and chrome_json.hpp on the columns that the events become.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

struct PerfettoMetadata {
  std::string process_name;  ///< shown for the process of all events
  std::string thread_name;   ///< shown for threads that have no name
  std::map<std::string, std::string> custom_metadata;
};

/// Chrome's JSON trace of TraceEvents. One thread at a time. Methods that return bool leave the
/// reason of a false in lastError(), and with its code in lastStatus().
class PerfettoExporter {
 public:
  bool exportToFile(const std::vector<TraceEvent>& events, const std::string& path);
  bool exportToFile(const std::vector<TraceEvent>& events,
                    const std::vector<CounterEvent>& counters, const std::string& path);
  /// "" when it failed.
  std::string exportToString(const std::vector<TraceEvent>& events);
  std::string exportToString(const std::vector<TraceEvent>& events,
                             const std::vector<CounterEvent>& counters);

  /// False: what the device did (kernels, copies, fills) is left out. Default true.
  void setEnableGPUTracks(bool enable) { gpu_tracks_ = enable; }
  /// False: no arrows. Default true.
  void setEnableFlowEvents(bool enable) { flow_events_ = enable; }
  /// False: counters and allocated memory are left out. Default true.
  void setEnableCounterTracks(bool enable) { counter_tracks_ = enable; }
  /// True: stacks have the frames of the interpreter, libffi and the loader as well, which are told
  /// by StackFrame::module. Default false.
  void setAllFrames(bool all) { all_frames_ = all; }
  void setMetadata(const PerfettoMetadata& metadata) { metadata_ = metadata; }

  const std::string& lastError() const { return last_error_; }
  const Status& lastStatus() const { return last_status_; }

 protected:
  /// The events as columns, with what is switched off left out; not all where it was cancelled.
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

/// The same with a choice of format; PROTOBUF is Perfetto's own, with typed GPU packets.
class PerfettoProtoExporter : public PerfettoExporter {
 public:
  enum class Format { JSON, PROTOBUF };

  explicit PerfettoProtoExporter(Format format = Format::PROTOBUF) : format_(format) {}

  bool exportToFile(const std::vector<TraceEvent>& events, const std::string& path);
  bool exportToFile(const std::vector<TraceEvent>& events,
                    const std::vector<CounterEvent>& counters, const std::string& path);
  Format getFormat() const { return format_; }

  /// False: the Perfetto SDK is not part of TraceSmith and nothing needs it. PROTOBUF works all the
  /// same, by an encoder of our own (export/perfetto/proto_wire.hpp).
  static bool isSDKAvailable() { return false; }

 private:
  Format format_;
};

}  // namespace tracesmith
