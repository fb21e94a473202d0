// SPDX-License-Identifier: Apache-2.0
// The values that people type: times, sizes, counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

/// "1.2s", "300ms", "5us" (or "5µs"), "100ns", "2m" (minutes) as ns; a bare number is seconds.
/// Not negative, at most 100 years.
Result<int64_t> parseTimeNs(std::string_view text);

/// "65536", "64K", "4M", "1.5G" (powers of 1024; "KiB", "MB" and the like mean the same) as bytes.
Result<uint64_t> parseSizeBytes(std::string_view text);

/// A whole number of digits only, at most `max`.
Result<uint64_t> parseCount(std::string_view text, uint64_t max = UINT64_MAX);

/// "a, b or c".
std::string joinChoices(const std::vector<std::string>& choices);

}  // namespace tracesmith::cli
