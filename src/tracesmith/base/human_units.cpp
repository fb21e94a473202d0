// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/human_units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tracesmith {
namespace {

/// Three significant digits of a value below 1000.
std::string threeDigits(double v) {
  const double shown = std::abs(v);
  if (shown < 9.995) return fmt::format("{:.2f}", v);
  if (shown < 99.95) return fmt::format("{:.1f}", v);
  return fmt::format("{:.0f}", v);
}

std::string scaled(double v, double step, const char* const* units, int count) {
  int unit = 0;
  // 999.6 of a unit would be shown as 1000, so use the next unit.
  while (unit + 1 < count && std::abs(v) >= step - 0.5 * step / 1000) {
    v /= step;
    ++unit;
  }
  return threeDigits(v) + " " + units[unit];
}

}  // namespace

std::string formatDuration(int64_t ns, const char* micro) {
  if (ns > -1000 && ns < 1000) return fmt::format("{} ns", ns);
  const char* units[] = {micro, "ms", "s"};
  const double us = static_cast<double>(ns) / 1e3;
  if (std::abs(us) < 120e6) return scaled(us, 1000, units, 3);
  const int64_t seconds = std::llround(std::abs(us) / 1e6);
  const char* sign = ns < 0 ? "-" : "";
  if (seconds < 3600) return fmt::format("{}{} min {} s", sign, seconds / 60, seconds % 60);
  return fmt::format("{}{} h {} min", sign, seconds / 3600, seconds % 3600 / 60);
}

std::string formatOffset(int64_t ns) {
  const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:09} s", ns < 0 ? '-' : '+', size / 1'000'000'000,
                     size % 1'000'000'000);
}

std::string formatBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(bytes) / 1024, 1024, kUnits, 6);
}

std::string formatBandwidth(double bytes_per_second) {
  static constexpr const char* kUnits[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(bytes_per_second, 1000, kUnits, 5);
}

std::string formatCount(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string formatPercent(double share) { return fmt::format("{:.1f} %", share * 100); }

}  // namespace tracesmith
