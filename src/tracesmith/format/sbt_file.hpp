// SPDX-License-Identifier: Apache-2.0
// SBTWriter and SBTReader: write and read whole traces as TraceEvents. They are built on
// TraceWriter and TraceReader; read large traces as columns with those.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// Success, or the reason for failure. If a damaged file could still be read in part, `success` is
/// true and `error_message` says what is missing.
struct SBTResult {
  bool success = true;
  std::string error_message;
  Error failure = {};  ///< if not `success`: the error with its code and place
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
  uint64_t event_count = 0;  ///< TraceEvents in the file; 0 until they were read
  bool isValid() const { return version_major != 0; }
};

/// Creates a trace; an existing file is replaced. Events are written in batches. Written events can
/// be read at once, and remain readable if the program dies. Not thread-safe: one thread at a time.
class SBTWriter {
 public:
  explicit SBTWriter(const std::string& path);
  ~SBTWriter();  ///< finalizes, if finalize() was not called
  SBTWriter(SBTWriter&&) noexcept;
  SBTWriter& operator=(SBTWriter&&) noexcept;

  bool isOpen() const;
  /// Why the file could not be opened, or the first failed write; "" if there was no error.
  const std::string& lastError() const;

  SBTResult writeMetadata(const TraceMetadata& metadata);
  SBTResult writeDeviceInfo(const std::vector<DeviceInfo>& devices);
  SBTResult writeEvent(const TraceEvent& event);
  SBTResult writeEvents(const std::vector<TraceEvent>& events);
  SBTResult writeCounters(const std::vector<CounterEvent>& counters);
  /// Writes the events passed so far to the file.
  SBTResult flush();
  /// Writes remaining events, the index and the end marker, and syncs the file to disk.
  SBTResult finalize();

  uint64_t eventCount() const;  ///< events passed to writeEvent(s)
  uint64_t fileSize() const;    ///< bytes in the file so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads a trace as TraceEvents. Not thread-safe: one thread at a time.
class SBTReader {
 public:
  explicit SBTReader(const std::string& path);
  ~SBTReader();
  SBTReader(SBTReader&&) noexcept;
  SBTReader& operator=(SBTReader&&) noexcept;

  bool isOpen() const;
  /// True if the file is a trace that this version can read; false for an empty or missing file.
  bool isValid() const;
  /// Why isValid() is false.
  const std::string& lastError() const;
  const SBTHeader& header() const;

  SBTResult readAll(TraceRecord& record);
  SBTResult readMetadata(TraceMetadata& metadata);
  /// Replaces `events` by up to `count` events of the trace, sorted by time, starting with number
  /// `offset`. A count of 0 means all.
  SBTResult readEvents(std::vector<TraceEvent>& events, size_t offset = 0, size_t count = 0);
  SBTResult readCounters(std::vector<CounterEvent>& counters);
  /// Reads the file on the first call.
  uint64_t eventCount();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
