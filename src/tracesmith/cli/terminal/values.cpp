// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tracesmith::cli {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kNsPerCentury = 100.0 * 365.25 * 86400.0 * 1e9;

constexpr Unit kTimeUnits[] = {{"", 1e9},        {"s", 1e9},       {"ms", 1e6}, {"us", 1e3},
                               {"\u00b5s", 1e3}, {"\u03bcs", 1e3}, {"ns", 1},   {"m", 60e9},
                               {"min", 60e9},    {"h", 3600e9}};

constexpr double kKi = 1024.0;
constexpr Unit kSizeUnits[] = {{"", 1},
                               {"b", 1},
                               {"k", kKi},
                               {"kb", kKi},
                               {"kib", kKi},
                               {"m", kKi* kKi},
                               {"mb", kKi* kKi},
                               {"mib", kKi* kKi},
                               {"g", kKi* kKi* kKi},
                               {"gb", kKi* kKi* kKi},
                               {"gib", kKi* kKi* kKi}};

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Splits `text` into a decimal number (no sign, no exponent) and the rest; false if it does not
/// start with a number.
bool splitNumber(std::string_view text, double& number, std::string_view& rest) {
  size_t digits = text.find_first_not_of("0123456789.");
  if (digits == std::string_view::npos) digits = text.size();
  if (digits == 0 || digits > 40) return false;
  const auto parsed = std::from_chars(text.data(), text.data() + digits, number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + digits) return false;
  rest = text.substr(digits);
  return true;
}

template <size_t N>
bool toUnits(std::string_view text, const Unit (&units)[N], double& out) {
  double number = 0;
  std::string_view rest;
  if (!splitNumber(text, number, rest)) return false;
  for (const Unit& unit : units) {
    if (unit.name == rest) {
      out = number * unit.factor;
      return std::isfinite(out);
    }
  }
  return false;
}

}  // namespace

Result<int64_t> parseTimeNs(std::string_view text) {
  double ns = 0;
  if (!toUnits(text, kTimeUnits, ns)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a time; write 1.2s, 300ms, 5us or 100ns", text));
  }
  if (ns > kNsPerCentury) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is longer than a century", text));
  }
  return static_cast<int64_t>(std::llround(ns));
}

Result<uint64_t> parseSizeBytes(std::string_view text) {
  double bytes = 0;
  if (!toUnits(lowered(text), kSizeUnits, bytes)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a size; write 65536, 64K, 4M or 1G", text));
  }
  if (bytes > 9e15) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is larger than any memory", text));
  }
  return static_cast<uint64_t>(bytes);
}

Result<uint64_t> parseCount(std::string_view text, uint64_t max) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != text.data() + text.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a whole number", text));
  }
  if (parsed.ec != std::errc() || value > max) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is too large", text));
  }
  return value;
}

std::string joinChoices(const std::vector<std::string>& choices) {
  std::string out;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += choices[i];
  }
  return out;
}

}  // namespace tracesmith::cli
