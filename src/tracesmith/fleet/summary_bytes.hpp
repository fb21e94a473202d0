// SPDX-License-Identifier: Apache-2.0
// A FleetSummary as bytes.
//
//   8 bytes  "TSsummry"
//   u32      version of the format
//   u32      reserved, 0
//   u64      XXH3 of all that follows
//   u64      bytes of the body before compression
//   body, compressed by zstd:
//     fields: number (varint), bytes (varint), value, until the end
//     integer   varint
//     WideSum   varint low, varint high
//     values    count, sum (low, high), min, max (varints), then buckets: distance from the last
//               index, count (varints)
//     map       entries: bytes of the name (varint), name, bytes of the value (varint), value
//     struct    fields
//
// Equal summaries have equal bodies. A reader takes every older version; fields that are missing
// are 0. It refuses a newer one: a sum without the fields that it does not know would be wrong.
#pragma once

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/fleet/fleet_summary.hpp"

namespace tracesmith {

constexpr uint32_t kSummaryVersion = 1;
/// A summary of one trace takes no more on disk.
constexpr size_t kLargestSummary = 64 * 1024;

/// The body, not compressed.
Bytes summaryBody(const FleetSummary& summary);
Bytes encodeSummary(const FleetSummary& summary);
/// The same, with at most `most_bytes`: the kernels with the least time move to `other_kernels`,
/// which has them by family. If that is not enough, rare names of other maps move to kOtherNames.
Bytes encodeSummary(FleetSummary& summary, size_t most_bytes);

/// Whether the bytes start as a summary does.
bool isSummary(ByteView bytes);
/// Errors: kNotATrace, kTooNew, kDamaged; kNoSpace if it would take more than `most_bytes` of
/// memory.
Result<FleetSummary> decodeSummary(ByteView bytes, size_t most_bytes = size_t{512} << 20);

}  // namespace tracesmith
