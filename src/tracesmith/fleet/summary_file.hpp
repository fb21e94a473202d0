// SPDX-License-Identifier: Apache-2.0
// The summary of one trace in a file of its own, so that it is computed only once.
//
//   8 bytes  "TSsumfil"
//   u32      version of the format
//   u32      bytes of the identity
//   identity: trace id (16), bytes of the trace, hash of its end, creation in Unix ns (8 each),
//             name of the host, path of the trace (each: u32 bytes, text)
//   a summary (summary_bytes.hpp)
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

/// Which trace a summary is of. The end of a complete trace is its index, with checksums.
struct TraceIdentity {
  std::array<uint8_t, 16> trace_id{};
  uint64_t bytes = 0;
  uint64_t end_hash = 0;
  int64_t created_ns = 0;  ///< Unix time
  std::string host;
  std::string path;  ///< when it was summarized

  bool isSameContent(const TraceIdentity& other) const {
    return trace_id == other.trace_id && bytes == other.bytes && end_hash == other.end_hash;
  }
};
/// `reader` has read nothing more than the list of blocks; the host is not known yet.
Result<TraceIdentity> identityOf(const TraceReader& reader, const std::string& path);

struct SummaryFile {
  TraceIdentity trace;
  FleetSummary summary;
};

/// Ending of their names, after that of the trace.
constexpr const char* kSummaryEnding = ".summary";

/// At most kLargestSummary and the identity; kernels that take the least are left out for that.
Status writeSummaryFile(const std::string& path, SummaryFile& file);
/// The identity alone if `only_identity`.
Result<SummaryFile> readSummaryFile(const std::string& path, bool only_identity = false);

}  // namespace tracesmith
