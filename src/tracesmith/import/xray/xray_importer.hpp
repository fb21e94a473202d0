// SPDX-License-Identifier: Apache-2.0
// Logs of LLVM's XRay as TraceEvents, for those who hold events rather than a trace. The work is
// done by xray_log.hpp (basic and FDR logs as LLVM writes them), xray_calls.hpp and
// xray_symbols.hpp; `tracesmith import` makes a trace of such a log.
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
  uint64_t timestamp = 0;  ///< ns, by the log's cycle frequency
  XRayEntryType type = XRayEntryType::FunctionEnter;
  uint32_t thread_id = 0;
  uint32_t cpu_id = 0;
  std::string function_name;  ///< "" where it is not known
  std::string file_name;      ///< "": logs and symbol tables do not say
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
  uint64_t cycle_frequency = 0;  ///< Hz; 0: the log does not say, and a tick counts as 1 ns
  uint64_t num_records = 0;      ///< that were read
};

/// One thread at a time.
class XRayImporter {
 public:
  struct Config {
    bool resolve_symbols = true;
    bool include_custom_events = true;
    bool filter_short_calls = false;
    uint64_t min_duration_ns = 0;  ///< calls that are shorter are left out with filter_short_calls
    std::string symbol_file;       ///< the program that wrote the log; "": looked for beside it
  };
  struct Statistics {
    uint64_t records_read = 0;
    uint64_t records_converted = 0;  ///< those that became events; two for a whole call
    uint64_t records_filtered = 0;   ///< left out as the configuration asked
    uint64_t custom_events = 0;      ///< typed ones are among them
    uint64_t functions_identified = 0;
    double total_duration_ms = 0;  ///< from the first time of the log to the last
  };

  XRayImporter() = default;
  explicit XRayImporter(Config config) : config_(std::move(config)) {}

  /// True: reading logs needs nothing that may be missing.
  static bool isAvailable() { return true; }

  /// An event for each call (Marker, with its duration: appendEvents() makes a range of it) and
  /// each event of the program (Marker, its payload in custom_data), by time; a RangeEnd for an
  /// exit without an entry. Empty when it failed; lastError() says why, and also what of a damaged
  /// log could not be used. The file may be packed with gzip or zstd.
  std::vector<TraceEvent> importFile(const std::string& path);
  /// The same of a log in memory.
  std::vector<TraceEvent> importBuffer(const uint8_t* data, size_t size);

  // Of the last import.
  const std::vector<XRayFunctionRecord>& getRawRecords() const { return records_; }
  const Statistics& getStatistics() const { return statistics_; }
  const XRayFileHeader& getHeader() const { return header_; }
  const std::string& lastError() const { return last_error_; }
  /// Whether it failed, and the code of why.
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
