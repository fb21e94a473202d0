// SPDX-License-Identifier: Apache-2.0
// Converts logs of LLVM's XRay to TraceEvents, for callers that need events rather than a trace.
// xray_log.hpp reads the logs (basic and FDR logs as LLVM writes them), xray_calls.hpp pairs calls
// and xray_symbols.hpp names functions. To get a trace, use `tracesmith import`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith::import {
class ByteSource;
}  // namespace tracesmith::import

namespace tracesmith {

enum class XRayEntryType : uint8_t {
  FunctionEnter = 0,
  FunctionExit = 1,
  TailExit = 2,
  CustomEvent = 3,
  TypedEvent = 4,
};

/// One record of a log.
struct XRayFunctionRecord {
  uint32_t function_id = 0;
  uint64_t timestamp = 0;  ///< ns, computed from the log's cycle frequency
  XRayEntryType type = XRayEntryType::FunctionEnter;
  uint32_t thread_id = 0;
  uint32_t cpu_id = 0;
  std::string function_name;  ///< "" if unknown
  std::string file_name;      ///< always "": logs and symbol tables do not contain it
  uint32_t line_number = 0;
  bool operator==(const XRayFunctionRecord&) const = default;
};

struct XRayCustomEvent {
  uint64_t timestamp = 0;  ///< ns
  uint32_t thread_id = 0;
  std::vector<uint8_t> data;
  bool operator==(const XRayCustomEvent&) const = default;
};

struct XRayFileHeader {
  uint16_t version = 0;
  uint16_t type = 0;             ///< 0: basic, 1: FDR
  uint64_t cycle_frequency = 0;  ///< Hz; 0: not in the log; a tick then counts as 1 ns
  uint64_t num_records = 0;      ///< number of records read
};

/// Not thread-safe.
class XRayImporter {
 public:
  struct Config {
    bool resolve_symbols = true;
    bool include_custom_events = true;
    bool filter_short_calls = false;
    uint64_t min_duration_ns = 0;  ///< with filter_short_calls, shorter calls are omitted
    std::string symbol_file;  ///< the program that wrote the log; "": search for it next to the log
  };
  struct Statistics {
    uint64_t records_read = 0;
    uint64_t records_converted = 0;  ///< records that became events; two for a complete call
    uint64_t records_filtered = 0;   ///< omitted because of the configuration
    uint64_t custom_events = 0;      ///< including typed events
    uint64_t functions_identified = 0;
    double total_duration_ms = 0;  ///< from the first to the last time of the log
  };

  XRayImporter() = default;
  explicit XRayImporter(Config config) : config_(std::move(config)) {}

  /// Always true: reading logs has no optional dependencies.
  static bool isAvailable() { return true; }

  /// Returns the events by time:
  /// - a Marker with a duration for each call (appendEvents() turns it into a range);
  /// - a Marker for each custom or typed event, with its payload in custom_data;
  /// - a RangeEnd for an exit without an entry.
  /// The result is empty on failure. lastError() gives the reason, and also lists the unusable
  /// parts of a damaged log. The file may be packed with gzip or zstd.
  std::vector<TraceEvent> importFile(const std::string& path);
  /// The same for a log in memory.
  std::vector<TraceEvent> importBuffer(const uint8_t* data, size_t size);

  // Results of the last import.
  const std::vector<XRayFunctionRecord>& getRawRecords() const { return records_; }
  const Statistics& getStatistics() const { return statistics_; }
  const XRayFileHeader& getHeader() const { return header_; }
  const std::string& lastError() const { return last_error_; }
  /// Status of the last import, with the error code.
  const Status& lastStatus() const { return last_status_; }

  void setSymbolFile(const std::string& path) { config_.symbol_file = path; }
  void setConfig(const Config& config) { config_ = config; }

 private:
  class Reading;

  std::vector<TraceEvent> read(Result<std::unique_ptr<import::ByteSource>> source,
                               const std::string& binary);
  std::vector<TraceEvent> failed(Error reason);

  Config config_;
  std::vector<XRayFunctionRecord> records_;
  Statistics statistics_;
  XRayFileHeader header_;
  std::string last_error_;
  Status last_status_;
};

}  // namespace tracesmith
