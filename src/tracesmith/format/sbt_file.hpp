// SPDX-License-Identifier: Apache-2.0
// SBTWriter and SBTReader: whole traces as TraceEvents, for users of the API. TraceWriter and
// TraceReader are what they stand on; large traces are better read as columns with those.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// Success or the reason why not. Where something was read in spite of damage, `success` is true
/// and `error_message` says what is missing.
struct SBTResult {
  bool success = true;
  std::string error_message;
  Error failure = {};  ///< where `success` is false: the same, with its code and its place
  explicit operator bool() const { return success; }

  static SBTResult ok() { return {}; }
  static SBTResult error(std::string message) {
    return {false, message, {ErrorCode::kIo, message, {}}};
  }
  static SBTResult error(const Error& reason) { return {false, reason.toString(), reason}; }
};

struct SBTHeader {
  uint16_t version_major = 0;
  uint16_t version_minor = 0;
  uint64_t flags = 0;
  uint32_t header_size = 0;
  uint64_t event_count = 0;  ///< TraceEvents in the file; 0 until they have been read
  bool isValid() const { return version_major != 0; }
};

/// Creates a trace, replacing a file that is there. Events reach the file in batches; what was
/// written can be read at once, and stays readable if the program dies. One thread at a time.
class SBTWriter {
 public:
  explicit SBTWriter(const std::string& path);
  ~SBTWriter();  ///< finalizes, if that has not been done
  SBTWriter(SBTWriter&&) noexcept;
  SBTWriter& operator=(SBTWriter&&) noexcept;

  bool isOpen() const;
  /// Why the file could not be opened, or the first write that failed; "" when all is well.
  const std::string& lastError() const;

  SBTResult writeMetadata(const TraceMetadata& metadata);
  SBTResult writeDeviceInfo(const std::vector<DeviceInfo>& devices);
  SBTResult writeEvent(const TraceEvent& event);
  SBTResult writeEvents(const std::vector<TraceEvent>& events);
  SBTResult writeCounters(const std::vector<CounterEvent>& counters);
  /// Brings the events given so far into the file.
  SBTResult flush();
  /// Writes what is left, the index and the end, and flushes to the device.
  SBTResult finalize();

  uint64_t eventCount() const;  ///< given to writeEvent(s)
  uint64_t fileSize() const;    ///< bytes in the file so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class SBTReader {
 public:
  explicit SBTReader(const std::string& path);
  ~SBTReader();
  SBTReader(SBTReader&&) noexcept;
  SBTReader& operator=(SBTReader&&) noexcept;

  bool isOpen() const;
  /// True when the file is a trace that this version reads; an empty or missing file is none.
  bool isValid() const;
  /// Why isValid() is false.
  const std::string& lastError() const;
  const SBTHeader& header() const;

  SBTResult readAll(TraceRecord& record);
  SBTResult readMetadata(TraceMetadata& metadata);
  /// Replaces `events` by `count` of the trace's, by time, from the one with number `offset` on. A
  /// count of 0 means all.
  SBTResult readEvents(std::vector<TraceEvent>& events, size_t offset = 0, size_t count = 0);
  SBTResult readCounters(std::vector<CounterEvent>& counters);
  /// Reads the file if that has not been done.
  uint64_t eventCount();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
