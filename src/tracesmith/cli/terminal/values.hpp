// SPDX-License-Identifier: Apache-2.0
// Parses values that people type: times, sizes, counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

/// Parses "1.2s", "300ms", "5us" (or "5µs"), "100ns" or "2m" (minutes) to ns; a plain number is in
/// seconds. Must not be negative, and at most 100 years.
Result<int64_t> parseTimeNs(std::string_view text);

/// Parses "65536", "64K", "4M" or "1.5G" to bytes (powers of 1024; "KiB", "MB" and so on mean the
/// same).
Result<uint64_t> parseSizeBytes(std::string_view text);

/// Parses a whole number that consists of digits only and is at most `max`.
Result<uint64_t> parseCount(std::string_view text, uint64_t max = UINT64_MAX);

/// "a, b or c".
std::string joinChoices(const std::vector<std::string>& choices);

}  // namespace tracesmith::cli
