// SPDX-License-Identifier: Apache-2.0
// Formats quantities for people: three significant digits and a unit.
#pragma once

#include <cstdint>
#include <string>

namespace tracesmith {

/// "0 ns", "999 ns", "1.23 us", "45.6 ms", "7.89 s", "2 min 5 s", "1 h 2 min". Negative values
/// start with a minus. `micro`: the text for µs, for terminals without UTF-8.
std::string formatDuration(int64_t ns, const char* micro = "µs");

/// "+5000.000000123 s", with a sign and to the nanosecond: by how much one clock is ahead of
/// another.
std::string formatOffset(int64_t ns);

/// "0 B", "1023 B", "1.00 KiB", "4.50 MiB": binary multiples.
std::string formatBytes(uint64_t bytes);

/// "12.3 GB/s": decimal multiples of a rate in bytes per second.
std::string formatBandwidth(double bytes_per_second);

/// "1,234,567".
std::string formatCount(uint64_t n);

/// A fraction (1 = 100 %) as "12.3 %".
std::string formatPercent(double share);

}  // namespace tracesmith
