// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/runs/record_range.hpp"

#include <fmt/format.h>

#include <optional>

#include "tracesmith/base/name_pattern.hpp"
#include "tracesmith/cli/terminal/values.hpp"

namespace tracesmith::cli {
namespace {

constexpr size_t kMostBytes = 240;  // size of an agent's buffer

Error unknown(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("'{}' is not a range; write time:1.2s-1.5s, launch:100-200, kernel:REGEX, "
                      "step:3 or trigger",
                      text),
          "--range"};
}

/// "3" or "3-5", counted from 1.
Result<std::string> counted(std::string_view kind, std::string_view text, const Error& error) {
  const size_t dash = text.find('-');
  const auto first = parseCount(text.substr(0, dash), INT64_MAX);
  const auto last =
      dash == std::string_view::npos ? first : parseCount(text.substr(dash + 1), INT64_MAX);
  if (!first || !last) return tl::unexpected<Error>(error);
  if (*first == 0) {
    return fail(ErrorCode::kInvalidArgument, "launches and steps count from 1", "--range");
  }
  if (*last < *first) {
    return fail(ErrorCode::kInvalidArgument, "the range ends before it starts", "--range");
  }
  return fmt::format("{} {} {}", kind, *first, *last);
}

}  // namespace

Result<std::string> parseRecordRange(std::string_view text, int64_t session_begin_ns) {
  if (text == "trigger") return std::string(text);
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return tl::unexpected<Error>(unknown(text));
  }
  const std::string_view kind = text.substr(0, colon);
  const std::string_view value = text.substr(colon + 1);
  if (kind == "launch" || kind == "step") return counted(kind, value, unknown(text));
  if (kind == "time") {
    const size_t dash = value.find('-');
    if (dash == std::string_view::npos) return tl::unexpected<Error>(unknown(text));
    TS_TRY(const int64_t from, parseTimeNs(value.substr(0, dash)));
    TS_TRY(const int64_t to, parseTimeNs(value.substr(dash + 1)));
    if (to <= from) {
      return fail(ErrorCode::kInvalidArgument, "the range ends before it starts", "--range");
    }
    return fmt::format("time {} {}", session_begin_ns + from, session_begin_ns + to);
  }
  if (kind == "kernel") {
    if (value.empty() || value.size() > kMostBytes) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("a regular expression has 1 to {} bytes", kMostBytes), "--range");
    }
    const auto pattern = NamePattern::parse(value, "--range");
    if (!pattern) return tl::unexpected<Error>(pattern.error());
    return "kernel " + std::string(value);
  }
  return tl::unexpected<Error>(unknown(text));
}

}  // namespace tracesmith::cli
